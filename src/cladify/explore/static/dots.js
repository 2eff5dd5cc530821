// Many points at once by WebGL, on a canvas of their own that is copied into the picture. Where there is no WebGL the
// picture draws them one by one.

const VERTEX = `attribute vec2 place; attribute vec4 color; uniform vec4 view; uniform mediump float size; varying mediump vec4 shade;
void main() { gl_Position = vec4(place * view.xy + view.zw, 0.0, 1.0); gl_PointSize = size; shade = color; }`;
const FRAGMENT = `precision mediump float; varying vec4 shade; uniform float size;
void main() {
  float edge = clamp((0.5 - distance(gl_PointCoord, vec2(0.5))) * size + 0.5, 0.0, 1.0) * shade.a;
  gl_FragColor = vec4(shade.rgb * edge, edge);
}`;

export class Dots {
  constructor() {
    this.canvas = document.createElement("canvas");
    const gl = this.canvas.getContext("webgl", { antialias: false, depth: false, preserveDrawingBuffer: true });
    this.gl = gl && this.prepare(gl) ? gl : null;
    this.canvas.addEventListener("webglcontextlost", () => { this.gl = null; });
  }

  prepare(gl) {
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return false;
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.view = gl.getUniformLocation(program, "view");
    this.size = gl.getUniformLocation(program, "size");
    this.buffers = [["place", 2, gl.FLOAT, false], ["color", 4, gl.UNSIGNED_BYTE, true]].map(([name, width, type, unit]) => {
      const buffer = gl.createBuffer(), at = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, width, type, unit, 0, 0);
      return buffer;
    });
    return true;
  }

  // Two coordinates and four bytes of colour a point.
  load(places, colors) {
    if (!this.gl) return;
    [places, colors].forEach((data, i) => {
      this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[i]);
      this.gl.bufferData(this.gl.ARRAY_BUFFER, data, this.gl.DYNAMIC_DRAW);
    });
    this.count = places.length / 2;
  }

  // Draws points at (x scale + left, y scale + top) pixels; false where there is no WebGL.
  draw(ctx, width, height, { scale, left, top }, size, most) {
    const gl = this.gl, ratio = devicePixelRatio || 1;
    if (!gl) return false;
    const wide = Math.round(width * ratio), high = Math.round(height * ratio);
    if (this.canvas.width !== wide || this.canvas.height !== high) Object.assign(this.canvas, { width: wide, height: high });
    gl.viewport(0, 0, wide, high);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform4f(this.view, (2 * scale) / width, (-2 * scale) / height, (2 * left) / width - 1, 1 - (2 * top) / height);
    gl.uniform1f(this.size, size * ratio);
    gl.drawArrays(gl.POINTS, 0, Math.min(this.count, most));
    ctx.drawImage(this.canvas, 0, 0, width, height);
    return true;
  }
}
