// Descriptions that the theme lacks, for a reader who does not see the page.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll('.caption[role="heading"]')) caption.setAttribute("aria-level", "2");
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "pages");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "on this page");
  // a long line and a wide table scroll, by keyboard too
  for (const block of document.querySelectorAll("pre, .table-wrapper")) block.tabIndex = 0;
  if (!document.querySelector("h1")) {
    const heading = document.createElement("h1");
    heading.textContent = document.title.split(" - ")[0];
    document.querySelector("article")?.prepend(heading);
  }
});
