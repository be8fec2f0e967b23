"""What people see: the pages of a real hub, in a real browser.

The browser is Debian's Chromium, driven by Playwright, which downloads none of its own. `make test` as root on Debian
installs it; elsewhere a Chromium or Chrome on the PATH will do, and without one these tests are skipped, or fail when
CI=true.
"""
