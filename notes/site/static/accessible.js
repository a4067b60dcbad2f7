// What the theme leaves unsaid to a reader who does not see the page.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll('.caption[role="heading"]')) caption.setAttribute("aria-level", "2");
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "pages");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "on this page");
  for (const block of document.querySelectorAll("pre")) block.tabIndex = 0; // a long line scrolls, by keyboard too
  for (const figure of document.querySelectorAll("figure.drawn")) {
    figure.tabIndex = 0; // a wide picture scrolls on a telephone
    figure.setAttribute("role", "group");
    figure.setAttribute("aria-label", "picture");
  }
  if (!document.querySelector("h1")) {
    const heading = document.createElement("h1");
    heading.textContent = document.title.split(" - ")[0];
    document.querySelector("article")?.prepend(heading);
  }
});
