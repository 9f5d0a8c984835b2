// Scores pages by Lighthouse: reads URLs and a cookie (JSON) from standard input, and writes scores (JSON).
import { createRequire } from "node:module";
import { join } from "node:path";
import { json } from "node:stream/consumers";

const load = createRequire(join(process.argv[2], "package.json"));
const lighthouse = (await import(load.resolve("lighthouse"))).default;
const { launch } = await import(load.resolve("chrome-launcher"));

const scores = {};
const chrome = await launch({
  chromePath: process.env.CHROME_PATH,
  chromeFlags: ["--headless", "--no-sandbox", "--disable-dev-shm-usage"],
});
try {
  const { urls, cookie } = await json(process.stdin);
  const extraHeaders = cookie ? { Cookie: cookie } : {};
  for (const url of urls) {
    const { lhr } = await lighthouse(url, { port: chrome.port, logLevel: "error", extraHeaders });
    scores[url] = {};
    for (const [name, category] of Object.entries(lhr.categories)) {
      const costly = category.auditRefs
        .filter(({ id, weight }) => weight && lhr.audits[id].score !== null && lhr.audits[id].score < 0.9)
        .map(({ id }) => id);
      scores[url][name] = { score: Math.round(category.score * 100), costly };
    }
  }
} finally {
  chrome.kill();
}
process.stdout.write(JSON.stringify(scores));
