// Tells the server what is chosen in a field of the header; the first option is the default and stands for nothing.
document.addEventListener("change", (event) => {
  const field = event.target.closest("select[data-choice]");
  if (!field) { return; }
  const value = field.selectedIndex === 0 ? "" : field.value;
  window.dash_clientside.set_props("chosen", { data: { name: field.dataset.choice, value, at: Date.now() } });
});

// A field that was used keeps its choice when the page is drawn anew; the way back has to put it right.
window.addEventListener("popstate", () => {
  const query = new URLSearchParams(window.location.search);
  document.querySelectorAll("select[data-choice]").forEach((field) => {
    const value = query.get(field.dataset.choice);
    if (value === null) { field.selectedIndex = 0; } else { field.value = value; }
  });
});
