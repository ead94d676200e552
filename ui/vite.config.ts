// Builds the UI into build/ui, from where CMake takes it into the program. `npm run dev` serves the sources and
// asks a running Kymo for data: KYMO_SERVER, or the default port.
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, type ProxyOptions } from 'vite'
import { licenses } from './licenses'

const kymo: ProxyOptions = {
  target: process.env.KYMO_SERVER ?? 'http://localhost:3001',
  changeOrigin: true,
  // Kymo takes changes from its own pages alone.
  configure: (proxy) => proxy.on('proxyReq', (request) => request.removeHeader('origin')),
}

export default defineConfig({
  base: './',
  plugins: [svelte(), licenses()],
  build: { outDir: '../build/ui', emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 1000 },
  server: { proxy: { '/api': kymo } },
})
