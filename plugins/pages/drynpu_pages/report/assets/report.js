// Draws figures when they come into sight; sorts and searches tables.
(function () {
  "use strict";
  const root = document.documentElement;
  const draw = (place) => {
    const figure = JSON.parse(place.nextElementSibling.textContent);
    Plotly.newPlot(place, figure.data, figure.layout, { displaylogo: false, responsive: true });
  };
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) { watcher.unobserve(entry.target); draw(entry.target); }
    }
  }, { rootMargin: "400px" });
  document.querySelectorAll(".plot").forEach((place) => watcher.observe(place));
  // Who takes a picture of the page asks how long it is.
  root.dataset.height = Math.ceil(document.querySelector("main").getBoundingClientRect().bottom);
  // On paper everything is in sight.
  window.addEventListener("beforeprint", () => document.querySelectorAll(".plot:empty").forEach(draw));

  const sort = (head) => {
    const body = head.closest("table").tBodies[0];
    const column = head.cellIndex;
    const down = head.getAttribute("aria-sort") !== "descending";
    head.parentElement.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const number = head.classList.contains("number");
    const key = (row) => number ? parseFloat(row.cells[column].textContent) : row.cells[column].textContent;
    const rows = Array.from(body.rows).sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (number) { return (Number.isNaN(y) ? -Infinity : y) - (Number.isNaN(x) ? -Infinity : x); }
      return y.localeCompare(x);
    });
    body.append(...(down ? rows : rows.reverse()));
  };
  document.querySelectorAll(".data th").forEach((head) => {
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(head); } });
  });
  document.querySelectorAll(".tools input").forEach((field) => {
    const rows = field.closest("section").querySelectorAll("tbody tr");
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
    });
  });
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
