// A plain file server, as any that a user may have.
import { createServer } from "node:http";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png" };

/** Offers a folder's files under a path. Returns the address, which ends in a slash, and the function that ends it. */
export async function serve(folder) {
  const server = createServer((request, response) => {
    const asked = decodeURIComponent(new URL(request.url, "http://x").pathname);
    const file = path.join(folder, asked.replace(/^\/some\/where\//, "").replace(/(^|\/)$/, "$1index.html"));
    if (!asked.startsWith("/some/where/") || !statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" });
    response.end(readFileSync(file));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/some/where/`, close: () => server.close() };
}
