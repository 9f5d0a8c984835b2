// Reads a JSON list of patterns, writes a JSON object of the verdict of recheck on each.
// All time limits are off: a verdict must not depend on the load of the machine.

const { recheck } = await import(Deno.args[0]);
const unlimited = {
    timeout: null,
    seedingTimeout: null,
    incubationTimeout: null,
    attackTimeout: null,
};
const patterns = JSON.parse(await new Response(Deno.stdin.readable).text());
const verdicts = patterns.map((pattern) => [pattern, recheck.checkSync(pattern, '', unlimited).status]);
console.log(JSON.stringify(Object.fromEntries(verdicts)));
