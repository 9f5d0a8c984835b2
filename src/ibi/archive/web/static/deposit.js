// The page of a draft works without this script. With it, files are dropped and sent in parts that
// go on after a broken connection or a reload, and the form saves itself.
"use strict";
{
  const SLICE = 16 * 1024 * 1024; // bytes of one request
  const AT_ONCE = 4; // files on their way
  const ATTEMPTS = 7; // before a file is given up, until it is asked for again
  const QUIET = 1200; // milliseconds without a key, after which the form is saved
  const SHOWN = {sending: 20, failed: 40, waiting: 20, done: 30}; // rows of each state

  const form = document.getElementById("draft");
  const words = document.getElementById("words")?.dataset;
  const say = (word, ...values) => {
    let text = words[word];
    if (values.length === 1) return text.replace("%", () => values[0]);
    values.forEach((value, at) => { text = text.replace(`%${at + 1}`, () => value); });
    return text;
  };
  const wait = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
  const make = (name, facts = {}, ...children) => {
    const made = Object.assign(document.createElement(name), facts);
    made.append(...children);
    return made;
  };

  // --- the session ------------------------------------------------------------------------------

  let renewing = null;
  const notice = make("div", {className: "notice bad", hidden: true});
  notice.setAttribute("role", "alert");
  const tell = (text, link = "") => {
    notice.replaceChildren(make("p", {textContent: text}));
    if (link) notice.append(make("a", {className: "act", href: link, target: "_blank", textContent: words.signin}));
    notice.hidden = !text;
  };
  const pageNow = async () => {
    const answer = await fetch(location.pathname + location.search, {credentials: "same-origin"});
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  const renew = () => {
    renewing ??= (async () => {
      for (let turn = 0; ; turn += 1) {
        try {
          const token = (await pageNow()).querySelector("#draft input[name=csrf]");
          if (token) {
            form.elements.csrf.value = token.value;
            tell("");
            renewing = null;
            return;
          }
        } catch { /* the connection is closed: it is tried again */ }
        if (turn) tell(words.ended, `/sign-in?next=${encodeURIComponent(location.pathname)}`);
        await wait(turn ? 3000 : 300);
      }
    })();
    return renewing;
  };
  const api = (path, method = "GET", body = null, headers = {}) => fetch(form.dataset.api + path, {
    method, body, credentials: "same-origin", headers: {"X-CSRF-Token": form.elements.csrf.value, ...headers},
  });
  const isEnded = (status) => status === 401 || status === 403;
  const reason = async (answer) => {
    try { return (await answer.json()).detail ?? ""; } catch { return ""; }
  };

  // --- the form ---------------------------------------------------------------------------------

  let saving = null;
  let last = "";
  let timer = 0;
  let conflict = false;
  const isUnsaved = form?.dataset.unsaved !== undefined;
  const savedAt = document.getElementById("saved");
  const typed = () => JSON.stringify([...new FormData(form)].filter(
    ([name, value]) => typeof value === "string" && !["csrf", "version"].includes(name)));
  const checks = async () => {
    try {
      const page = await pageNow();
      const found = page.querySelector("#checks .checks");
      if (found) document.querySelector("#checks .checks").replaceWith(found);
      const fresh = page.getElementById("target-0")?.closest(".field");
      const shown = document.getElementById("target-0");
      if (!fresh || shown === document.activeElement) return;
      if (shown) {
        fresh.querySelector("[name=target]").value = shown.value;
        shown.closest(".field").replaceWith(fresh);
      } else document.getElementById("file-table").parentElement.append(fresh);
    } catch { /* it stays as it was */ }
  };
  const saveOnce = async () => {
    const fields = typed();
    if (conflict || fields === last) return;
    savedAt.textContent = words.saving;
    const body = `{"version": ${Number(form.elements.version.value)}, "fields": ${fields}}`;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const answer = await api("", "PUT", body, {"Content-Type": "application/json"});
        if (answer.ok) {
          form.elements.version.value = (await answer.json()).version;
          last = fields;
          savedAt.textContent = say("saved", new Date().toLocaleTimeString(document.documentElement.lang, {timeStyle: "short"}));
          checks();
          return;
        }
        if (isEnded(answer.status)) await renew();
        else if (answer.status === 409) {
          conflict = true;
          tell(words.conflict);
          return;
        } else if (answer.status < 500 && answer.status !== 429) {
          tell(await reason(answer));
          return;
        }
      } catch {
        savedAt.textContent = words.unsaved;
      }
      await wait(Math.min(1000 * 2 ** attempt, 15000));
    }
  };
  const save = async () => {
    clearTimeout(timer);
    while (saving) await saving;
    saving = saveOnce().finally(() => { saving = null; });
    await saving;
    if (!conflict && typed() !== last) soon();
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(save, QUIET);
  };
  const anotherRow = (button) => {
    const box = button.closest("fieldset");
    const rows = box.querySelectorAll(box.querySelector("ol") ? "ol > li" : ".field");
    const row = rows[rows.length - 1].cloneNode(true);
    const number = rows.length;
    row.querySelectorAll(".fault, .elsewhere").forEach((each) => each.remove());
    row.querySelectorAll(".bad").forEach((each) => each.classList.remove("bad"));
    row.querySelectorAll("label").forEach((each) => {
      each.htmlFor = each.htmlFor.replace(/-[0-9]+$/, `-${number}`);
      each.textContent = each.textContent.replace(/[0-9]+/, number + 1);
    });
    row.querySelectorAll("input, textarea, select").forEach((each) => {
      each.id = each.id.replace(/-[0-9]+$/, `-${number}`);
      each.value = "";
      each.removeAttribute("aria-invalid");
      each.removeAttribute("aria-describedby");
    });
    rows[rows.length - 1].after(row);
    row.querySelector("input, textarea, select").focus();
  };

  // --- files ------------------------------------------------------------------------------------

  const entries = new Map(); // by path: file, state, sent, and the row that shows it
  const place = (path) => `/files/${path.split("/").map(encodeURIComponent).join("/")}`;
  const memoryKey = `ibi-${form?.dataset.draft}`;
  let memory = null;
  let there = null; // what the server has, by path
  let remembering = 0;
  let drawing = 0;
  const remembered = () => {
    try { memory ??= JSON.parse(localStorage.getItem(memoryKey) ?? "{}") ?? {}; } catch { memory = {}; }
    return memory;
  };
  const keep = () => {
    remembering = 0;
    try { localStorage.setItem(memoryKey, JSON.stringify(remembered())); } catch { /* it is only a help */ }
  };
  const remember = (path, facts) => {
    if (facts) remembered()[path] = facts;
    else delete remembered()[path];
    remembering ||= setTimeout(keep, 1000);
  };
  const listThere = async () => {
    const found = new Map();
    for (let after = ""; ;) {
      const answer = await api(`/files?limit=1000&after=${encodeURIComponent(after)}`);
      if (isEnded(answer.status)) { await renew(); continue; }
      if (!answer.ok) throw new Error(answer.status);
      const page = await answer.json();
      for (const each of page.files) found.set(each.path, each);
      if (!(after = page.after)) return found;
    }
  };
  const whereTo = async (entry) => {
    // Return from which byte on a file is to be sent; -1 if all of it is there.
    const answer = await api(place(entry.path));
    if (isEnded(answer.status)) { await renew(); return whereTo(entry); }
    if (answer.status === 404) return 0;
    if (!answer.ok) throw new Error(answer.status);
    const found = await answer.json();
    if (!found.whole) return found.size <= entry.file.size ? found.size : 0;
    if (entry.replaces || found.size !== entry.file.size) return 0;
    entry.sum = found.sha256;
    return -1;
  };
  const send = (entry, offset) => new Promise((resolve, reject) => {
    const part = entry.file.slice(offset, offset + SLICE);
    const isLast = offset + part.size === entry.file.size;
    const request = entry.request = new XMLHttpRequest();
    request.open(offset ? "PATCH" : "PUT", form.dataset.api + place(entry.path));
    request.setRequestHeader("X-CSRF-Token", form.elements.csrf.value);
    request.setRequestHeader("Content-Type", entry.file.type || "application/octet-stream");
    request.setRequestHeader("Upload-Complete", isLast ? "?1" : "?0");
    if (offset) request.setRequestHeader("Upload-Offset", String(offset));
    request.upload.onprogress = (event) => { entry.sent = offset + event.loaded; draw(); };
    request.onload = () => resolve(request);
    request.onerror = request.ontimeout = () => reject(new Error("closed"));
    request.onabort = () => reject(new Error("stopped"));
    request.send(part);
  });
  const detail = (request) => {
    try { return JSON.parse(request.responseText).detail ?? ""; } catch { return ""; }
  };
  const finish = (entry, sum) => {
    Object.assign(entry, {state: "done", sum, sent: entry.file.size, ended: performance.now()});
    draw();
  };
  const fail = (entry, why) => {
    Object.assign(entry, {state: "failed", why});
    draw();
  };
  const upload = async (entry) => {
    let offset = entry.offset; // null if the server is asked for it first
    for (let attempt = 0; entry.state === "sending";) {
      try {
        if (attempt || offset === null) offset = await whereTo(entry);
        if (offset < 0) { finish(entry, entry.sum); return; }
        entry.sent = offset;
        const answer = await send(entry, offset);
        if (answer.status === 201) { finish(entry, JSON.parse(answer.responseText).sha256); return; }
        if (answer.status === 200) {
          offset = Number(answer.getResponseHeader("Upload-Offset"));
          entry.replaces = false;
          attempt = 0;
          continue;
        }
        if (isEnded(answer.status)) { await renew(); offset = null; continue; }
        const isPassing = answer.status === 429 || answer.status >= 500 || answer.status === 409;
        if (!isPassing || attempt >= ATTEMPTS) { fail(entry, detail(answer)); return; }
      } catch (error) {
        if (entry.state !== "sending") return;
        if (attempt >= ATTEMPTS) { fail(entry, words.lost); return; }
      }
      attempt += 1;
      draw();
      await wait(Math.min(500 * 2 ** attempt, 15000));
    }
  };
  const run = () => {
    const all = [...entries.values()];
    let free = AT_ONCE - all.filter((each) => each.state === "sending").length;
    for (const entry of all) {
      if (free <= 0) break;
      if (entry.state !== "waiting") continue;
      entry.state = "sending";
      free -= 1;
      upload(entry).finally(() => { run(); if (!isBusy()) { checks(); } });
    }
    draw();
  };
  const isBusy = () => [...entries.values()].some((each) => ["waiting", "sending"].includes(each.state));
  const add = async (found) => {
    if (!found.length) return;
    for (const {path, file} of found) {
      const known = entries.get(path);
      if (known?.state === "sending") continue;
      known?.row?.remove();
      document.querySelectorAll("#file-table button[name=remove-file]").forEach((each) => {
        if (each.value === path) each.closest("tr").remove();
      });
      const isTooLarge = file.size > Number(form.dataset.most);
      entries.set(path, {path, file, state: isTooLarge ? "failed" : "looking", sent: 0, why: isTooLarge ? words.toolarge : ""});
    }
    draw();
    while (!there) {
      try { there = await listThere(); } catch { await wait(1000); }
    }
    for (const {path} of found) {
      const entry = entries.get(path);
      if (entry?.state !== "looking") continue;
      const {size, lastModified} = entry.file;
      const known = there.get(path);
      const mine = remembered()[path];
      const isSame = mine && mine[0] === size && mine[1] === lastModified;
      entry.replaces = Boolean(known?.whole);
      remember(path, [size, lastModified]);
      if (known?.whole && isSame && known.size === size) finish(entry, known.sha256);
      else {
        entry.offset = isSame ? null : 0;
        entry.state = "waiting";
      }
    }
    run();
  };
  const stop = (entry) => {
    Object.assign(entry, {state: "failed", why: ""});
    entry.request?.abort();
    draw();
  };
  const goOn = (entry) => {
    Object.assign(entry, {state: "waiting", offset: null, why: ""});
    run();
  };
  const removeThere = async (path) => {
    for (;;) {
      try {
        const answer = await api(place(path), "DELETE");
        if (isEnded(answer.status)) await renew();
        else if (answer.ok || answer.status === 404) break;
        else { tell(await reason(answer)); return false; }
      } catch { await wait(1000); }
    }
    remember(path, null);
    there?.delete(path);
    checks();
    return true;
  };
  const removeEntry = async (entry) => {
    if (entry.state === "sending") stop(entry);
    if (await removeThere(entry.path)) {
      entry.row?.remove();
      entries.delete(entry.path);
      draw();
    }
  };

  // --- what is shown ----------------------------------------------------------------------------

  const sizes = (bytes) => {
    const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
    const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 4);
    return new Intl.NumberFormat(document.documentElement.lang, {
      style: "unit", unit: units[power], unitDisplay: "short", maximumFractionDigits: power > 1 ? 1 : 0,
    }).format(bytes / 1000 ** power);
  };
  const act = (word, entry, does) => {
    const button = make("button", {className: "lesser", type: "button", textContent: words[word]});
    button.setAttribute("aria-label", `${words[word]} ${entry.path}`);
    button.addEventListener("click", () => does(entry));
    return button;
  };
  const cells = {
    looking: () => [[make("span", {className: "state waiting", textContent: words.waiting})], []],
    waiting: (entry) => [[make("span", {className: "state waiting", textContent: words.waiting})], [act("stop", entry, stop)]],
    sending: (entry) => {
      const bar = make("progress", {max: Math.max(entry.file.size, 1), value: entry.sent});
      bar.setAttribute("aria-label", say("sending", entry.path));
      return [[bar, " ", make("span", {className: "facts"})], [act("stop", entry, stop)]];
    },
    failed: (entry) => [[
      make("span", {className: "state bad", textContent: say("broken", `${Math.floor(100 * entry.sent / Math.max(entry.file.size, 1))} %`)}),
      make("br"), make("span", {className: "facts", textContent: entry.why}),
    ], [act("retry", entry, goOn), " ", act("remove", entry, removeEntry)]],
    done: (entry) => [[
      make("span", {className: "state good", textContent: words.done}), " ",
      make("code", {className: "facts sum", textContent: `sha256 ${entry.sum}`}),
    ], [act("remove", entry, removeEntry)]],
  };
  const row = (entry) => {
    entry.row ??= make("tr", {}, make("th", {scope: "row"},
      make("span", {dir: "auto", textContent: entry.path}), make("br"),
      make("span", {className: "facts", textContent: sizes(entry.file.size)})), make("td"), make("td", {className: "number"}));
    if (entry.drawn !== entry.state) {
      const [state, acts] = cells[entry.state](entry);
      entry.row.children[1].replaceChildren(...state);
      entry.row.children[2].replaceChildren(...acts);
      entry.drawn = entry.state;
    }
    if (entry.state === "sending") {
      entry.row.querySelector("progress").value = entry.sent;
      const percent = Math.floor(100 * entry.sent / Math.max(entry.file.size, 1));
      entry.row.querySelector("td .facts").textContent = `${percent} %`;
    }
    return entry.row;
  };
  const rest = make("p", {className: "facts after", hidden: true});
  const drawNow = () => {
    drawing = 0;
    const all = [...entries.values()];
    const of = (...states) => all.filter((each) => states.includes(each.state));
    const done = of("done").sort((one, other) => other.ended - one.ended);
    const shown = [
      ...of("sending").slice(0, SHOWN.sending), ...of("failed").slice(0, SHOWN.failed),
      ...of("waiting", "looking").slice(0, SHOWN.waiting), ...done.slice(0, SHOWN.done),
    ];
    const body = document.querySelector("#file-table tbody");
    const kept = new Set(shown);
    for (const each of all) if (!kept.has(each)) each.row?.remove();
    shown.forEach((each, at) => {
      const made = row(each);
      if (body.children[at] !== made) body.insertBefore(made, body.children[at] ?? null);
    });
    rest.hidden = shown.length === all.length;
    rest.textContent = say("more", all.length - shown.length);
    if (all.length) {
      const bytes = all.reduce((sum, each) => sum + each.sent, 0);
      document.getElementById("file-sum").textContent = say("sum", done.length, all.length, sizes(bytes));
    }
  };
  const draw = () => { drawing ||= setTimeout(drawNow, 150); };

  // --- dropping and choosing --------------------------------------------------------------------

  const inside = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
      return [{path: entry.fullPath.replace(/^\//, "").normalize("NFC"), file}];
    }
    const reader = entry.createReader();
    const found = [];
    for (;;) {
      const some = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
      if (!some.length) return found;
      for (const each of some) found.push(...await inside(each));
    }
  };
  const chosen = (input) => [...input.files].map((file) => (
    {path: (file.webkitRelativePath || file.name).normalize("NFC"), file}));

  const start = () => {
    const box = document.getElementById("drop");
    const pick = document.getElementById("pick");
    const folder = make("input", {type: "file", id: "pick-folder"});
    folder.webkitdirectory = true;
    document.getElementById("plain-upload").replaceWith(
      make("p", {}, make("label", {htmlFor: "pick-folder", textContent: words.folder})), folder);
    box.querySelector("label b").textContent = words.drop;
    box.querySelector(".facts").append(" ", words.resumes);
    document.getElementById("file-table").after(rest);
    form.before(notice);
    for (const input of [pick, folder]) {
      input.addEventListener("change", () => { add(chosen(input)); input.value = ""; });
    }
    for (const name of ["dragenter", "dragover"]) {
      box.addEventListener(name, (event) => { event.preventDefault(); box.classList.add("over"); });
    }
    for (const name of ["dragleave", "drop"]) {
      box.addEventListener(name, () => box.classList.remove("over"));
    }
    box.addEventListener("drop", async (event) => {
      event.preventDefault();
      const items = [...event.dataTransfer.items].filter((each) => each.kind === "file");
      const dropped = items.map((each) => each.webkitGetAsEntry?.() ?? each.getAsFile());
      for (const each of dropped) {
        if (each instanceof File) await add([{path: each.name.normalize("NFC"), file: each}]);
        else if (each) await add(await inside(each));
      }
    });
    last = typed();
    form.addEventListener("input", (event) => { if (event.target.type !== "file") soon(); });
    form.addEventListener("submit", async (event) => {
      const button = event.submitter;
      if (button?.name === "remove-file") {
        event.preventDefault();
        if (await removeThere(button.value)) button.closest("tr").remove();
      } else if (button?.value.startsWith("more-")) {
        event.preventDefault();
        anotherRow(button);
      } else if (isUnsaved) {
        // What this page shows was refused once: it is sent as a form, and shown again.
        clearTimeout(timer);
        last = typed();
      } else if (!conflict && (saving || typed() !== last)) {
        event.preventDefault();
        await save();
        if (conflict || button?.value === "save") return;
        form.requestSubmit(button);
      } else if (!conflict && button?.value === "save") event.preventDefault();
    });
    addEventListener("pagehide", keep);
    document.addEventListener("visibilitychange", () => { if (document.hidden) save(); });
    addEventListener("beforeunload", (event) => {
      if (isBusy() || (!conflict && typed() !== last)) event.preventDefault();
    });
  };
  if (form && words) start();
}
