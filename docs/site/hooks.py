"""What MkDocs does beside building: the pages can be read without a mouse."""


def on_post_page(output, page, config):
    # Code that is wider than the page scrolls sideways: keyboards must reach it.
    return output.replace('<div class="highlight"><pre>', '<div class="highlight"><pre tabindex="0">')
