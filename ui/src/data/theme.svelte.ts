// Dark or light: as the system has it until somebody chooses. A matter of the reader and not of the view: it is
// kept by the browser and not in the address.
export type Theme = 'dark' | 'light'

const KEY = 'kymo.theme'

function initial(): Theme {
  const stored = localStorage.getItem(KEY)
  if (stored === 'dark' || stored === 'light') return stored
  return matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
}

export const theme: { current: Theme } = $state({ current: initial() })
document.documentElement.dataset.theme = theme.current

export function toggleTheme(): void {
  theme.current = theme.current === 'dark' ? 'light' : 'dark'
  document.documentElement.dataset.theme = theme.current
  localStorage.setItem(KEY, theme.current)
}
