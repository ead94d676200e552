// The glossary's terms, loaded when they are first shown.
import { readTerms, type Term } from '../model/glossary'

class Glossary {
  terms: Term[] = $state.raw([])

  async load(): Promise<void> {
    if (this.terms.length === 0) this.terms = readTerms((await import('../../../docs/glossary.md?raw')).default)
  }
}

export const glossary = new Glossary()
