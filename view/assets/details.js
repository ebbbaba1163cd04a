import {$, el, replace} from './dom.js';
import {bytes, count} from './format.js';
import {facts, link} from './table.js';

// The panel on the right: the run, marks, and the commands that give the same window on a terminal.

export function drawDetails(app) {
  const box = $('details');
  box.hidden = !app.state.details;
  if (box.hidden) return;
  const m = app.meta;
  const span = `#${Math.floor(app.state.t[0])}..#${Math.ceil(app.state.t[1])}`;
  const command = (text) => el('dd', {}, el('code', {}, text));
  replace(box, el('h2', {}, 'Run'), facts([
    ['file', m.name], ['size', bytes(m.bytes)], ['processes', count(m.processes)], ['rows', count(m.locations)], ['events', count(m.events)],
    ['time', app.clock.duration(m.last - m.first)], ['resolution', m.resolution ? count(m.resolution) + ' ticks a second' : 'not known'],
    ['damage', m.partial ? m.damage || 'partial' : null], [app.second?.words[1], app.second?.meta.name],
    ['made by', 'coppice ' + app.answer.tool], ['file id', m.id]]),
  el('h2', {}, 'Marks'),
  app.state.marks.length ? el('ul', {}, ...app.state.marks.map((mark, k) => el('li', {},
    link(`${app.clock.at(mark.t, 1)} ${mark.note}`, () => app.state.change(app.state.show(mark.t, app.state.rows[0]), 'mark' + k)), ' ',
    el('button', {'aria-label': `Remove mark ${k + 1}`, onclick: () => app.state.change({marks: app.state.marks.filter((x) => x !== mark)})}, 'Remove'))))
    : el('p', {class: 'note'}, 'None. m sets one at the selection, Shift+m with a note.'),
  el('h2', {}, 'This window on a terminal'),
  el('dl', {}, el('dt', {}, 'report'), command(`coppice report ${m.name} --time '${span}'`),
    el('dt', {}, 'Perfetto'), command(`coppice export ${m.name} --to perfetto --time '${span}' -o part.pftrace`),
    el('dt', {}, 'Parquet'), command(`coppice export ${m.name} --to parquet --time '${span}' -o part.parquet`)));
}
