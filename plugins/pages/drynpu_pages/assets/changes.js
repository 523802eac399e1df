// Tells the server what a reader does to the address: chooses in a field of the header or clicks a figure.
// Dash drops the request of a callback when its next one begins. So each request says everything that may not have
// been answered, numbered; the server skips what it has answered, and tells how far it is.
(function () {
  "use strict";
  let waiting = [];
  let last = 0;
  const add = (cause, value) => {
    last += 1;
    waiting = [...waiting, { number: last, path: window.location.pathname, cause: cause, value: value }];
    window.dash_clientside.set_props("changes", { data: waiting });
  };
  const mark = (click) => {
    const point = click && click.points && click.points[0];
    const data = point && point.customdata;
    const text = Array.isArray(data) ? data[data.length - 1] : data;
    return typeof text === "string" ? text : null;
  };
  // A point that is about a time leads to its window in the timeline, with a quarter of it on both sides.
  const follow = (text) => {
    const [from, to] = text.slice("window=".length).split("-").map(BigInt);
    const around = (to - from) / 4n;
    const rank = new URLSearchParams(window.location.search).get("rank");
    const query = new URLSearchParams({ ...(rank ? { rank } : {}), from: from - around, to: to + around });
    const page = window.location.pathname.replace(/[^/]*$/, "timeline");
    window.dash_clientside.set_props("url", { pathname: page, search: `?${query}` });
  };

  // The first option of a field is the default and stands for nothing.
  document.addEventListener("change", (event) => {
    const field = event.target.closest("select[data-choice]");
    if (field) { add(`choice:${field.dataset.choice}`, field.selectedIndex === 0 ? "" : field.value); }
  });
  // A field that was used keeps its choice when the page is drawn anew; the way back has to put it right.
  window.addEventListener("popstate", () => {
    const query = new URLSearchParams(window.location.search);
    document.querySelectorAll("select[data-choice]").forEach((field) => {
      const value = query.get(field.dataset.choice);
      if (value === null) { field.selectedIndex = 0; } else { field.value = value; }
    });
  });

  const dash = (window.dash_clientside = window.dash_clientside || {});
  dash.changes = {
    answered: (number) => { waiting = waiting.filter((each) => each.number > number); },
    chart: () => {
      for (const change of dash.callback_context.triggered) {
        const text = mark(change.value);
        if (text !== null && text.startsWith("window=")) { follow(text); } else if (text !== null) { add("chart", text); }
      }
    },
  };
})();
