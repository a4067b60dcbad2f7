// A slider on a page without a server: each of its values has a picture that was drawn beforehand.
document.addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.frames")) {
    const frames = JSON.parse(figure.querySelector("script").textContent);
    const inputs = [...figure.querySelectorAll("input")];
    const shown = figure.querySelector("img");
    const said = figure.querySelector("figcaption");
    const show = () => {
      for (const input of inputs) {
        const value = JSON.parse(input.dataset.values)[input.value];
        input.parentElement.querySelector("span").textContent = value;
        input.setAttribute("aria-valuetext", value);
      }
      const frame = frames[inputs.map((input) => input.value).join("-")];
      shown.src = frame.src;
      shown.alt = frame.alt;
      said.textContent = frame.alt;
    };
    inputs.forEach((input) => input.addEventListener("input", show));
    show();
  }
});
