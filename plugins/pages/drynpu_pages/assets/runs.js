// The list of runs: a field that leaves out what does not hold a text, and buttons of which two open the comparison.
// The list is made anew while runs come in, so both are put right after each change of it.
(function () {
  "use strict";
  let picked = [];
  const shown = () => {
    const field = document.getElementById("find-run");
    if (!field) { picked = []; return; }
    const text = field.value.toLowerCase();
    document.querySelectorAll("table.runs tbody tr").forEach((row) => {
      const hidden = !row.textContent.toLowerCase().includes(text);
      if (row.hidden !== hidden) { row.hidden = hidden; }
      const button = row.querySelector("button[data-pick]");
      const pressed = String(picked.includes(button.dataset.pick));
      if (button.getAttribute("aria-pressed") !== pressed) { button.setAttribute("aria-pressed", pressed); }
    });
  };
  document.addEventListener("input", (event) => { if (event.target.id === "find-run") { shown(); } });
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button[data-pick]");
    if (!button) { return; }
    const name = button.dataset.pick;
    picked = picked.includes(name) ? picked.filter((each) => each !== name) : [...picked, name];
    if (picked.length === 2) {
      const [baseline, run] = picked;
      const place = run.split("/").map(encodeURIComponent).join("/");
      window.location.assign(`/run/${place}/comparison?${new URLSearchParams({ other: baseline })}`);
    }
    shown();
  });
  new MutationObserver(shown).observe(document.documentElement, { childList: true, subtree: true });
})();
