// Dark or light: as the system has it until somebody chooses. A matter of the reader and not of the view: it is
// kept by the browser and not in the address.
export type Theme = 'dark' | 'light'

const KEY = 'kymo.theme'

function initial(): Theme {
  const kept = localStorage.getItem(KEY)
  if (kept === 'dark' || kept === 'light') return kept
  return matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
}

export const theme: { current: Theme } = $state({ current: initial() })
document.documentElement.dataset.theme = theme.current

export function switchTheme(): void {
  theme.current = theme.current === 'dark' ? 'light' : 'dark'
  document.documentElement.dataset.theme = theme.current
  localStorage.setItem(KEY, theme.current)
}
