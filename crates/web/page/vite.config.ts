// One script and one style sheet, committed as they are built: the program has them inside also where npm is not.
import { defineConfig } from "vite";

export default defineConfig({
  build: {
    target: "es2022",
    cssCodeSplit: false,
    lib: { entry: "src/main.ts", formats: ["iife"], name: "wirebenchUi", fileName: () => "ui.js", cssFileName: "ui" },
  },
});
