// The timeline page: makes the frame with the viewer, keeps the address at what the reader sees there, and draws the
// strip of a run that is too long to be loaded at once. The frame tells of itself by messages (frame/frame.js).
(function () {
  "use strict";
  const part = (name) => document.getElementById(`timeline-${name}`);
  const say = (text) => { part("status").textContent = text; };
  const number = (count) => count.toLocaleString("en").replaceAll(",", "\u202f");
  const dark = () => getComputedStyle(document.documentElement).colorScheme === "dark";
  let told = null;

  const open = (place) => {
    const run = window.location.pathname.replace(/^\/run\//, "").replace(/\/[^/]*$/, "");
    const query = new URLSearchParams(window.location.search);
    const wanted = new URLSearchParams({ events: `/events/${run}?${query}`, theme: dark() ? "dark" : "light", title: decodeURIComponent(run) });
    for (const key of ["from", "to", "event", "find"]) { if (query.has(key)) { wanted.set(key, query.get(key)); } }
    const frame = document.createElement("iframe");
    frame.title = place.dataset.alternative;
    // The viewer opens a trace of its own where its address names no page.
    frame.src = `/perfetto/?${wanted}#!/viewer?mode=embedded`;
    place.replaceChildren(frame);
  };
  new MutationObserver(() => {
    const place = part("viewer");
    if (place && !place.firstChild) { told = null; open(place); }
  }).observe(document.documentElement, { childList: true, subtree: true });

  // The same place in another window: no new page, so that the way back leads to the page before.
  const settle = (changes) => {
    const query = new URLSearchParams(window.location.search);
    for (const [key, value] of Object.entries(changes)) { if (value) { query.set(key, value); } else { query.delete(key); } }
    const text = query.size ? `?${query}` : "";
    if (text === window.location.search) { return; }
    history.replaceState(null, "", window.location.pathname + text);
    // Dash reads the address anew, as after a step back.
    window.dispatchEvent(new PopStateEvent("popstate"));
  };

  const strip = () => {
    const place = part("strip");
    place.hidden = !told.busy.length;
    if (place.hidden) { return; }
    const [first, last] = told.whole.map(Number);
    const share = (time) => `${(100 * (Number(time) - first)) / (last - first)}%`;
    const picture = document.createElement("canvas");
    picture.width = told.busy.length; picture.height = 40;
    const brush = picture.getContext("2d");
    brush.fillStyle = "#2f7ed8";
    told.busy.forEach((busy, x) => { brush.globalAlpha = 0.15 + 0.85 * busy; brush.fillRect(x, 40 - 40 * Math.max(busy, 0.05), 1, 40); });
    const loaded = document.createElement("div");
    const [from, to] = told.window;
    loaded.style.left = share(from);
    loaded.style.width = `max(3px, ${(100 * (Number(to) - Number(from))) / (last - first)}%)`;
    place.replaceChildren(picture, loaded);
    place.onclick = (event) => {
      const box = place.getBoundingClientRect();
      const middle = first + ((event.clientX - box.left) / box.width) * (last - first);
      const half = (Number(to) - Number(from)) / 2;
      settle({ from: String(Math.round(middle - half / 10)), to: String(Math.round(middle + half / 10)), event: "" });
      say("Loading that part …");
      open(part("viewer"));
    };
  };

  const states = {
    reading: () => say("Reading the run …"),
    loading: (what) => say(`Loading ${number(what.events)} events …`),
    failed: (what) => say(`This could not be shown: ${what.why}`),
    ready: (what) => {
      told = what.said;
      const some = told.busy.length ? `${number(told.events)} of ${number(told.all)} events are loaded; click the strip for others.` : `${number(told.events)} events.`;
      say(`${some} W and S zoom, A and D move, / searches, M marks, ? shows all keys.`);
      strip();
    },
    seen: (what) => settle(what.at),
  };
  window.addEventListener("message", (event) => {
    const what = event.origin === window.location.origin && event.data && event.data.drynpu;
    if (what && part("status") && states[what.state]) { states[what.state](what); }
  });
  // The page's button for light and dark also turns the viewer.
  new MutationObserver(() => {
    const frame = part("viewer") && part("viewer").querySelector("iframe");
    if (frame) { frame.contentWindow.postMessage({ perfettoIgnore: true, theme: dark() ? "dark" : "light" }, window.location.origin); }
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
})();
