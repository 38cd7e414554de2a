/* Browsers do not start Web Workers from files, and the site's search is one. Read from a folder, it runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      const inner = (this.inner = frame.contentWindow);
      const load = address => new Promise((done, failed) => {
        const script = inner.document.createElement("script");
        script.src = address;
        script.onload = done;
        script.onerror = () => failed(new Error(address));
        inner.document.body.append(script);
      });
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...scripts) => scripts.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
      this.ready = load(new URL(url, document.baseURI).href);
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.inner.frameElement.remove();
    }
  };
}
