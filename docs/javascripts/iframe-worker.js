// Search in pages that are opened from disk, where browsers start no workers: the worker's script runs in a hidden frame
// instead, with the same messages. The name is the one that the theme's search looks for.
class IFrameWorker extends EventTarget {
  constructor(address) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inside = this.frame.contentWindow;
    this.ready = new Promise((resolve) => this.frame.addEventListener("load", resolve));
    inside.document.open();
    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    inside.document.write(`<body><script src="${new URL(address, location)}"></script></body>`);
    inside.document.close();
  }

  postMessage(data) {
    const inside = this.frame.contentWindow;
    this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.IFrameWorker = window.Worker = IFrameWorker;
