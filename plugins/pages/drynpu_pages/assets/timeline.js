// Keys and wheel of the timeline: keys press its buttons, the wheel with Ctrl zooms where the pointer is.
(function () {
  "use strict";
  const typing = (element) => /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName) && !/^(checkbox|radio)$/.test(element.type);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || typing(event.target)) { return; }
    const button = document.querySelector(`.timeline button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (button) { event.preventDefault(); button.click(); }
  });

  let pending = null;
  document.addEventListener("wheel", (event) => {
    const graph = event.target.closest && event.target.closest("#timeline-graph .js-plotly-plot");
    if (!graph || !event.ctrlKey) { return; }
    event.preventDefault();
    const axis = graph._fullLayout.xaxis;
    const place = axis.p2d(event.clientX - graph.getBoundingClientRect().left - axis._offset);
    const [start, end] = pending ? pending.range : axis.range;
    const factor = Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150);
    const range = [place - (place - start) * factor, place + (end - place) * factor];
    if (pending) { clearTimeout(pending.timer); }
    pending = { range: range, timer: setTimeout(() => { pending = null; Plotly.relayout(graph, { "xaxis.range": range }); }, 120) };
  }, { passive: false });
})();
