// The keys of a profile's page, for its help.

export const KEYS: { keys: string; does: string }[] = [
  { keys: 'W S', does: 'Zoom in and out' },
  { keys: 'A D', does: 'Move left and right' },
  { keys: '← →', does: 'Move left and right' },
  { keys: '↑ ↓', does: 'Scroll the tracks' },
  { keys: 'Drag', does: 'Zoom into what is dragged over' },
  { keys: 'Shift + drag', does: 'Move the picture' },
  { keys: 'F', does: 'Fit what is selected' },
  { keys: '0', does: 'Show all of the profile' },
  { keys: '/', does: 'Search' },
  { keys: '?', does: 'This help' },
]
