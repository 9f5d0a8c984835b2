// Pages work without this script. It adds buttons that copy the text of `data-copy`, or the shown
// element that `data-from` selects in the same box.
"use strict";
{
  const done = document.currentScript.dataset.done;
  const status = document.createElement("p");
  status.className = "unseen";
  status.setAttribute("role", "status");
  document.body.append(status);

  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    // Without TLS there is no clipboard, only the old command, which copies what is selected.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    if (!copied) throw new Error("not copied");
  };

  const chosen = (button) => {
    const all = button.closest(".card, section, main").querySelectorAll(button.dataset.from);
    return [...all].find((each) => each.offsetParent)?.innerText ?? "";
  };

  const listen = (button) => {
    const word = button.lastElementChild;
    const before = word.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(button.dataset.copy ?? chosen(button));
      button.focus();
      word.textContent = status.textContent = done;
      setTimeout(() => { word.textContent = before; status.textContent = ""; }, 2000);
    });
  };

  document.querySelectorAll("button[data-copy], button[data-from]").forEach(listen);
}
