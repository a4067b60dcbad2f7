// A slider on a page without a server: each of its values has a picture that was drawn beforehand.
document.addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.frames")) {
    const frames = JSON.parse(figure.querySelector("script").textContent);
    const inputs = [...figure.querySelectorAll("input")];
    const shown = figure.querySelector(".shown");
    const said = figure.querySelector("figcaption");
    const show = () => {
      for (const input of inputs) {
        const value = JSON.parse(input.dataset.values)[input.value];
        input.parentElement.querySelector("span").textContent = value;
        input.setAttribute("aria-valuetext", value);
      }
      const frame = frames[inputs.map((input) => input.value).join("-")];
      // one image a panel: the same drawing, of which each shows a part, so that a telephone can stack them
      const width = frame.panels.reduce((sum, panel) => sum + panel[2], 0);
      while (shown.children.length < frame.panels.length) shown.append(document.createElement("img"));
      frame.panels.forEach((panel, number) => {
        const image = shown.children[number];
        image.src = `${frame.src}#svgView(viewBox(${panel.join(",")}))`;
        image.alt = number ? "" : frame.alt;
        image.style.setProperty("--share", panel[2] / width);
        image.style.aspectRatio = `${panel[2]} / ${panel[3]}`;
      });
      shown.style.maxWidth = `${1.45 * width}px`;
      said.textContent = frame.alt;
    };
    inputs.forEach((input) => input.addEventListener("input", show));
    show();
  }
});
