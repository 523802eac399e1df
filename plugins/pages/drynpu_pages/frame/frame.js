// Perfetto's UI with the events that the page around it wants: /perfetto/?events=<address>&from=&to=&event=&find=&theme=.
// The page is told what the reader sees and does. Nothing is asked of other servers.
(function () {
  "use strict";
  const version = document.currentScript.dataset.version;
  const wanted = new URLSearchParams(window.location.search);
  const tell = (state, what) => window.parent.postMessage({ drynpu: { state: state, ...what } }, window.location.origin);
  const theme = wanted.get("theme") === "dark" ? "dark" : "light";
  document.documentElement.classList.add(theme);

  // What the UI would ask of others is refused before it is sent: the script of its makers' staff, a trace processor
  // on this machine, news of itself. Its own policy would let some of it through; the server's does not.
  const foreign = (address) => {
    const place = new URL(address, window.location.href);
    return place.protocol.startsWith("http") && place.origin !== window.location.origin;
  };
  const ask = window.fetch;
  const refused = () => Promise.resolve(new Response("", { status: 503, statusText: "offline" }));
  window.fetch = (what, how) => (foreign(what.url || what) ? refused() : ask(what, how));
  const append = document.head.append.bind(document.head);
  document.head.append = (...nodes) => nodes.forEach((node) => {
    if (node.src && foreign(node.src)) { queueMicrotask(() => node.onerror && node.onerror()); } else { append(node); }
  });
  const appendChild = document.head.appendChild.bind(document.head);
  document.head.appendChild = (node) => (node.httpEquiv === "Content-Security-Policy" ? node : appendChild(node));
  delete Navigator.prototype.serviceWorker;

  // It makes an engine in advance for the next trace. That one takes a second of both processors: it waits until then.
  const Engine = window.Worker;
  let engines = 0;
  window.Worker = function (address, ...how) {
    engines += /engine_bundle/.test(address) ? 1 : 0;
    if (engines < 2 || !/engine_bundle/.test(address)) { return new Engine(address, ...how); }
    const idle = { terminate: () => undefined };
    idle.postMessage = (...what) => {
      const engine = new Engine(address, ...how);
      engine.postMessage(...what);
      idle.terminate = () => engine.terminate();
    };
    return idle;
  };

  const settings = "perfettoSettings";
  const stored = JSON.parse(localStorage.getItem(settings) || "{}");
  localStorage.setItem(settings, JSON.stringify({ timestampFormat: "milliseconds", ...stored, theme: theme }));

  const read = async () => {
    tell("reading");
    const answer = await ask(wanted.get("events"));
    if (!answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      throw new Error((page.querySelector("p") || page.body).textContent);
    }
    const said = JSON.parse(answer.headers.get("X-Timeline"));
    tell("loading", said);
    return { buffer: await answer.arrayBuffer(), said: said };
  };
  const trace = read();
  trace.catch((error) => tell("failed", { why: error.message }));

  const until = (test) => new Promise((done) => {
    const look = () => { const value = test(); if (value) { done(value); } else { setTimeout(look, 20); } };
    look();
  });
  const script = document.createElement("script");
  script.src = `${version}/frontend_bundle.js`;
  append(script);

  const COLLAPSED = ["Memory", "Rates and loads", "CANN API calls", "Python", "Marks"];
  const unfold = async (shown) => {
    await until(() => shown.workspace.children.some((rank) => rank.children.some((section) => section.hasChildren)));
    const ranks = shown.workspace.children;
    const collapsed = ranks.length > 1 ? [...COLLAPSED, "Host operators", "Task queue"] : COLLAPSED;
    for (const rank of ranks) {
      const sections = rank.children.filter((section) => !collapsed.includes(section.name));
      [rank, ...sections].forEach((each) => each.expand());
    }
    shown.raf.scheduleFullRedraw();
  };
  // Its overview is for processors; ours shows how busy the device is.
  const overview = async (shown, said) => {
    const [start, end] = said.window.map(BigInt);
    const length = (end - start) / BigInt(said.near.length) || 1n;
    const row = said.near.map((load, place) => ({ ts: start + BigInt(place) * length, dur: length, load: load }));
    shown.minimap.registerContentProvider({ priority: 9, getData: async () => [row] });
    await shown.minimap.load(shown.traceInfo.start, shown.traceInfo.end);
  };

  const select = async (shown, event) => {
    const [, start, name] = /^(\d+)\.(.*)$/s.exec(event) || [];
    if (!start) { return; }
    const quoted = name.replaceAll("'", "''");
    const rows = await shown.engine.query(`select id from slice where ts = ${start} and name = '${quoted}' limit 1`);
    if (rows.numRows()) {
      shown.selection.selectSqlEvent("slice", rows.firstRow({ id: 0 }).id, { scrollToSelection: true });
      // The viewer asks its database for the track first, on a busy machine for longer than a frame.
      await until(() => shown.selection.selection.kind === "track_event");
    }
  };

  // Where the reader is, for the address: twice a second, and only once it stands still.
  const follow = (app, shown, loaded) => {
    const { start, end } = shown.traceInfo;
    const [first, last] = [start > loaded[0] ? start : loaded[0], end < loaded[1] ? end : loaded[1]];
    let before = "", settled = "", selected = null, event = wanted.get("event") || "";
    setInterval(async () => {
      const span = shown.timeline.visibleWindow.toTimeSpan();
      const whole = span.start <= first && span.end >= last;
      const chosen = shown.selection.selection;
      if (chosen !== selected) {
        selected = chosen;
        if (chosen.kind === "track_event") {
          const rows = await shown.engine.query(`select ts, ifnull(name, '') as name from slice where id = ${chosen.eventId}`);
          if (rows.numRows()) { const row = rows.firstRow({ ts: 0n, name: "str" }); event = `${row.ts}.${row.name}`; }
        } else if (before) { event = ""; }
      }
      const at = { from: whole ? "" : String(span.start), to: whole ? "" : String(span.end), event: event, find: app.omnibox.text };
      const now = JSON.stringify(at);
      if (now === before && now !== settled) { settled = now; tell("seen", { at: at }); }
      before = now;
    }, 500);
  };

  const start = async () => {
    const app = await until(() => window.app);
    window.addEventListener("message", (event) => {
      if (event.origin === window.location.origin && event.data.theme) { app.settings.get("theme").set(event.data.theme); }
    });
    const { buffer, said } = await trace; // Parts for phones and kernels of Linux would take a second to find nothing.
    const others = /^(com\.android|com\.google|org\.kernel)\./;
    app.plugins.getAllPlugins().filter((each) => others.test(each.desc.id)).forEach((each) => { each.active = false; });
    app.openTraceFromBuffer({ buffer: buffer, title: wanted.get("title"), localOnly: true });
    const shown = await until(() => !app.isLoadingTrace && app.trace);
    await unfold(shown);
    await overview(shown, said);
    const loaded = said.window.map(BigInt);
    const [from, to] = wanted.has("from") && wanted.has("to") ? [BigInt(wanted.get("from")), BigInt(wanted.get("to"))] : (said.shown || said.window).map(BigInt);
    if (wanted.has("event")) {
      await select(shown, wanted.get("event"));
      // Scrolling to an event moves the window, too, in the next frame.
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
    shown.timeline.setViewportTime(from, to);
    if (wanted.has("find")) { app.omnibox.setText(wanted.get("find")); shown.search.search(wanted.get("find")); }
    tell("ready", { said: said });
    follow(app, shown, loaded);
  };
  start();
})();
