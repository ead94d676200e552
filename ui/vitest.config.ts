// Tests of the UI: of its parts beside them (src/**/*.test.ts), of the whole in a browser (tests/ui).
import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  plugins: [svelte()],
  test: {
    include: ['ui/src/**/*.test.ts', 'tests/ui/**/*.test.ts'],
    testTimeout: 180_000, // tests wait for what a page shows, in seconds even where others use the machine
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    isolate: false, // files share what they import, and keep nothing there
    maxWorkers: 2,
    minWorkers: 1,
  },
})
