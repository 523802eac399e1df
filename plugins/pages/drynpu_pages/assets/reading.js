// While a run is being read: says how far that is, and ends it when the reader says so.
(function () {
  "use strict";
  const address = () => {
    const match = /^\/run\/(.*)\/[^/]*$/.exec(window.location.pathname);
    return match && `/reading/${match[1]}`;
  };
  setInterval(async () => {
    const place = document.getElementById("reading");
    if (!place || !address()) { return; }
    const answer = await fetch(address());
    const { text } = answer.ok ? await answer.json() : { text: "" };
    if (text) { place.textContent = text; }
  }, 500);
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("#cancel-reading");
    if (!button || !address()) { return; }
    button.disabled = true;
    fetch(address(), { method: "POST", headers: { "X-Drynpu": "cancel" } });
  });
})();
