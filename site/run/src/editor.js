// The editor of a cell. Its colours are classes, which run.css gives for light and dark.
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

// `run` is called by Shift-Enter, `changed` with the new text; `about` names the editor for a screen reader.
export function makeEditor({ source, about, help, readOnly, run, changed }) {
  const runs = () => {
    run();
    return true;
  };
  return new EditorView({
    doc: source,
    extensions: [
      Prec.highest(keymap.of([{ key: "Shift-Enter", run: runs }, { key: "Mod-Enter", run: runs }])),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
      lineNumbers(),
      history(),
      indentOnInput(),
      indentUnit.of("    "),
      bracketMatching(),
      closeBrackets(),
      python(),
      syntaxHighlighting(classHighlighter),
      EditorView.lineWrapping,
      EditorState.readOnly.of(readOnly),
      EditorView.contentAttributes.of({ "aria-label": about, "aria-describedby": help }),
      EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
    ],
  });
}

export function setText(view, text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}
