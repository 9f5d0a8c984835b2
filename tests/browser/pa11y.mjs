// Judges pages by pa11y: reads visits (JSON) from standard input, and writes findings (JSON).
import { createRequire } from "node:module";
import { join } from "node:path";
import { json } from "node:stream/consumers";

const load = createRequire(join(process.argv[2], "package.json"));
const pa11y = (await import(load.resolve("pa11y"))).default;
const puppeteer = (await import(load.resolve("puppeteer"))).default;

const visits = await json(process.stdin);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROME_PATH,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const findings = [];
try {
  for (const visit of visits) {
    const page = await browser.newPage();
    const cookie = visit.cookie ? { Cookie: visit.cookie } : {};
    await page.setExtraHTTPHeaders({ "Accept-Language": visit.language, ...cookie });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: visit.scheme }]);
    const judged = await pa11y(visit.url, {
      browser,
      page,
      standard: "WCAG2AA",
      runners: ["htmlcs"],
      viewport: { width: visit.width, height: 800 },
      timeout: 60000,
    });
    for (const issue of judged.issues) {
      findings.push({ page: visit.name, code: issue.code, element: issue.context || issue.selector });
    }
    await page.close();
  }
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(findings));
