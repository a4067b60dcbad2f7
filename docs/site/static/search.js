// The search page asks for words itself: on a telephone the field next to every page is folded away.
document.addEventListener("DOMContentLoaded", () => {
  const results = document.querySelector("article #search-results");
  if (!results) return;
  const form = document.createElement("form");
  form.className = "filters";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", "all pages");
  const field = Object.assign(document.createElement("input"), { type: "search", name: "q", required: true });
  field.value = new URLSearchParams(location.search).get("q") || "";
  const label = document.createElement("label");
  label.append("words, such as a claim's name, an algorithm or a symbol", field);
  form.append(label, Object.assign(document.createElement("button"), { textContent: "Search" }));
  results.before(form);
  if (!field.value) field.focus();
});
