// A button that copies each block of code, without prompts and outputs of an example.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight-python, div.highlight-ipython3, div.highlight-py, div.highlight-default, div.highlight-console")) {
    const button = document.createElement("button");
    button.className = "ck-copy";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      const lines = block.querySelector("pre").innerText.split("\n");
      const typed = lines.filter(line => /^(>>>|\.\.\.)/.test(line)).map(line => line.slice(4));
      await navigator.clipboard.writeText((typed.length ? typed : lines).join("\n").trimEnd());
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    block.append(button);
  }
});
// A page opened from a folder may not read the others: found pages are named there, without a passage.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
