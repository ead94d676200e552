// Tests of the UI: of its parts beside them (src/**/*.test.ts), of the whole in a browser (tests/ui).
import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  plugins: [svelte()],
  test: {
    include: ['ui/src/**/*.test.ts', 'tests/ui/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    isolate: false, // files share what they import, and keep nothing there
    maxWorkers: 2,
    minWorkers: 1,
  },
})
