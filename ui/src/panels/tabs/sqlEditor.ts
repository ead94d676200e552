// The editor of queries: CodeMirror with the profile's tables. Loaded with the SQL tab, as it is a third of the UI.
import { acceptCompletion, autocompletion, completionKeymap, startCompletion, type CompletionContext } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { PostgreSQL, SQLDialect } from '@codemirror/lang-sql'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { EditorState, Prec } from '@codemirror/state'
import { EditorView, keymap, placeholder } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { TableInfo } from '../../model/api'
import { completionsAt, KEYWORDS } from '../../model/sqlCompletion'

export interface SqlEditorOptions {
  parent: HTMLElement
  text: string
  hint: string
  tables: () => readonly TableInfo[]
  onchange: (text: string) => void
  onrun: () => void
}

const duckdb = SQLDialect.define({ ...PostgreSQL.spec, keywords: `${PostgreSQL.spec.keywords ?? ''} ${KEYWORDS.join(' ').toLowerCase()}` })

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.typeName, color: 'var(--marker)' },
  { tag: tags.comment, color: 'var(--text-soft)', fontStyle: 'italic' },
])

const theme = EditorView.theme({
  '&': { background: 'var(--back)', border: '1px solid var(--edge-strong)', borderRadius: 'var(--radius)', color: 'var(--text)', fontSize: 'var(--size-small)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.45', maxHeight: '40vh', minHeight: '60px' },
  '.cm-content': { caretColor: 'var(--text)', padding: '4px 0' },
  '.cm-line': { padding: '0 8px' },
  '.cm-placeholder': { color: 'var(--text-soft)' },
  '.cm-matchingBracket': { background: 'var(--accent-back) !important' },
  '.cm-tooltip': { background: 'var(--raised)', border: '1px solid var(--edge)', borderRadius: 'var(--radius)', boxShadow: 'var(--shadow)', color: 'var(--text)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxWidth: 'min(560px, 90vw)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { background: 'var(--accent-back)', color: 'var(--text)' },
  '.cm-completionDetail': { color: 'var(--text-soft)', fontStyle: 'normal' },
  '.cm-completionMatchedText': { color: 'var(--accent)', textDecoration: 'none' },
  '.cm-completionInfo': { fontFamily: 'var(--font)', maxWidth: '320px', padding: '5px 9px' },
})

const TYPES = { column: 'property', table: 'class', function: 'function', keyword: 'keyword' }
const BOOST = { column: 3, table: 2, function: 1, keyword: 0 }

export function openSqlEditor({ parent, text, hint, tables, onchange, onrun }: SqlEditorOptions): EditorView {
  const complete = (context: CompletionContext) => {
    const found = completionsAt(context.state.doc.toString(), context.pos, tables(), context.explicit)
    if (!found) return null
    const options = found.options.map(({ label, kind, detail, info }) => ({ label, detail, info: info || undefined, type: TYPES[kind], boost: BOOST[kind] }))
    return { from: found.from, options, validFor: /^\w*$/ }
  }
  const run = () => {
    onrun()
    return true
  }
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run }, { key: 'Tab', run: acceptCompletion }, { key: 'Ctrl-Space', run: startCompletion }])),
        history(), bracketMatching(), duckdb.language, syntaxHighlighting(colors), placeholder(hint), theme, EditorView.lineWrapping,
        autocompletion({ override: [complete], icons: false }),
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ 'aria-label': 'Query', spellcheck: 'false' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onchange(update.state.doc.toString())
        }),
      ],
    }),
  })
}
