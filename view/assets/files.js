import {bytes, count} from './format.js';
import {cut} from './dom.js';
import {colours} from './theme.js';

// Lanes of files above the rows: when the visible processes are in operations on them.

const fileHeight = 13; // of a lane, in pixels
const nameWidth = 100;

export class Files {
  constructor(app) {
    this.app = app;
  }

  list() {
    return this.app.state.lane('f') && this.app.overlays.files?.list || [];
  }

  lane() {
    return this.list().length * fileHeight;
  }

  draw(ctx, y0) {
    const {timeline, overlays: {files: v}} = this.app;
    const {box} = timeline;
    const c = colours();
    this.y = y0;
    const top = Math.max(1e-9, ...this.list().flatMap((f) => f.busy)); // one scale for all
    ctx.textBaseline = 'middle';
    this.list().forEach((f, row) => {
      const y = y0 + row * fileHeight;
      ctx.fillStyle = c.dim;
      const name = f.name || 'file not known';
      const more = v.more && row === this.list().length - 1 ? `, ${count(v.more)} more` : '';
      ctx.fillText(cut(ctx, name.slice(name.lastIndexOf('/') + 1), nameWidth - ctx.measureText(more).width) + more, 8, y + fileHeight / 2);
      ctx.fillStyle = c.lane;
      ctx.fillRect(box.x, y, box.w, fileHeight - 1);
      ctx.fillStyle = c.cls[6];
      ctx.save();
      ctx.beginPath();
      ctx.rect(box.x, y, box.w, fileHeight - 1);
      ctx.clip();
      f.busy.forEach((n, k) => {
        if (n <= 0) return;
        const from = timeline.x(v.begin + k * v.bin_ticks);
        const h = Math.max(1, n / top * (fileHeight - 2));
        ctx.fillRect(from, y + fileHeight - 1 - h, Math.max(1, timeline.x(v.begin + (k + 1) * v.bin_ticks) - from), h);
      });
      ctx.restore();
    });
  }

  // text is about the file under a point, "" for none.
  text(x, y) {
    const f = this.list()[Math.floor((y - this.y) / fileHeight)];
    if (!f || y < this.y) return '';
    const v = this.app.overlays.files;
    const busy = f.busy[Math.floor((this.app.timeline.timeAt(x) - v.begin) / v.bin_ticks)] || 0;
    return [f.name || 'file not known', `${count(f.operations)} operations in the window, ${bytes(f.bytes)} read and written, ${this.app.clock.duration(f.ticks)}`,
      x < this.app.timeline.box.x ? '' : `${new Intl.NumberFormat(undefined, {maximumSignificantDigits: 3}).format(busy)} operations in progress here, on average`,
      v.more ? `${count(v.more)} files with less time have no lane` : '', v.complete ? '' : 'not all operations were read'].filter(Boolean).join('\n');
  }
}
