import { defineConfig } from "vite";

export default defineConfig({
  // The page works under any path.
  base: "./",
  worker: { format: "es" },
  build: { target: "es2022", emptyOutDir: false, assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 3000 },
});
