// One script and one style sheet, which the page has inside it.
import { defineConfig } from "vite";

export default defineConfig({
  build: {
    target: "es2022",
    cssCodeSplit: false,
    lib: { entry: "src/main.ts", formats: ["iife"], name: "wirebenchReport", fileName: () => "report.js", cssFileName: "report" },
  },
});
