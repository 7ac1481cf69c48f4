import CoherenceActions
import CoherenceCore
import Testing

@testable import CoherenceOutbox

/// The messages to the loop of a forwarder, without a loop.
@Suite("The messages of a forwarder", .timeLimit(.minutes(15)))
struct ForwardMessagesTests {
  private let messages = ForwardMessages()

  @Test func `the loop takes each message once, and a wish for a search stays until the search begins`() {
    #expect(messages.take().needsSearch)
    messages.finish(7, [])
    messages.requestRenewal()
    messages.endDelay()
    messages.noteConnectivity(isOnline: false)
    let unread = messages.take()
    #expect(unread.endedCalls == [7] && unread.needsRenewal && unread.delayEnded && unread.wasOffline)
    #expect(unread.needsSearch && !unread.watchEnded && !unread.hasNewFlush)
    let next = messages.take()
    #expect(next.endedCalls.isEmpty && !next.needsRenewal && !next.delayEnded && !next.wasOffline)
    #expect(next.needsSearch)
    messages.beginSearch()
    messages.noteConnectivity(isOnline: true)
    let online = messages.take()
    #expect(!online.needsSearch && !online.wasOffline)
    messages.requestSearch()
    #expect(messages.take().needsSearch)
  }

  @Test func `the end of a watch asks for a search`() {
    messages.beginSearch()
    messages.endWatch()
    let unread = messages.take()
    #expect(unread.watchEnded && unread.needsSearch)
    #expect(!messages.take().watchEnded)
  }

  @Test func `a stop that cancels has precedence over a stop that drains, and a crash over both`() {
    #expect(messages.mode == .running && !messages.hasCrashed)
    for (stops, mode) in [
      ([.drain], .draining), ([.cancel], .canceling), ([.drain, .cancel], .canceling), ([.cancel, .drain], .canceling),
    ] as [([StopMode], ForwardMessages.Mode)] {
      let messages = ForwardMessages()
      for stop in stops { messages.stop(stop) }
      #expect(messages.mode == mode && !messages.hasCrashed)
      messages.crash()
      messages.stop(.cancel)
      #expect(messages.mode == .crashed && messages.hasCrashed)
    }
  }

  @Test func `a message before a wait ends the wait, and the next wait ends with the next message`() async {
    messages.requestPauseUpdate()
    await messages.wait()
    let waiting = Task { [messages] in await messages.wait() }
    messages.endDelay()
    await waiting.value
    messages.requestRenewal()
    await messages.wait()
    let unread = messages.take()
    #expect(unread.delayEnded && unread.needsRenewal)
  }

  private func beginFlush(waitsForOthers: Bool = false) async -> Task<Int?, any Error> {
    let task = Task { [messages] in try await messages.flush(waitsForOthers: waitsForOthers) }
    while !messages.hasFlushes { await Task.yield() }
    return task
  }

  private func endFlushes(
    isPaused: Bool = false, othersSend: Bool = false, left: Int? = nil, isStillPaused: Bool = false
  ) -> Bool {
    messages.endFlushes(isPaused: isPaused, othersSend: othersSend, left: left) { isStillPaused }
  }

  @Test func `a flush ends after its own search, with the number of remaining entries`() async throws {
    messages.beginSearch()
    let flush = await beginFlush()
    let unread = messages.take()
    #expect(unread.hasNewFlush && unread.needsSearch)
    #expect(!messages.take().hasNewFlush)
    let endsEarly = endFlushes(left: 5)
    #expect(!endsEarly && messages.hasFlushes)
    messages.beginSearch()
    let ends = endFlushes(left: 3)
    #expect(ends && !messages.hasFlushes)
    #expect(try await flush.value == 3)
  }

  @Test func `a flush that waits for other processes ends when they send no more, or with a pause`() async throws {
    for isPaused in [false, true] {
      let flush = await beginFlush(waitsForOthers: true)
      messages.beginSearch()
      let endsOthers = endFlushes(othersSend: true, left: 9)
      #expect(endsOthers && messages.hasFlushes)
      let ends = endFlushes(isPaused: isPaused, othersSend: isPaused, left: 1, isStillPaused: isPaused)
      #expect(ends && !messages.hasFlushes)
      #expect(try await flush.value == 1)
    }
  }

  @Test func `a pause ends flushes without a search, unless the pause has ended before`() async throws {
    let flush = await beginFlush()
    let endsAfterPause = endFlushes(isPaused: true, left: 4, isStillPaused: false)
    #expect(!endsAfterPause && messages.hasFlushes)
    let ends = endFlushes(isPaused: true, isStillPaused: true)
    #expect(ends && !messages.hasFlushes)
    #expect(try await flush.value == nil)
  }

  @Test func `the end of the loop refuses the present flushes and later ones`() async throws {
    let flush = await beginFlush()
    messages.close()
    #expect(!messages.hasFlushes)
    await #expect { try await flush.value } throws: { ErrorCode.illegalState ~= $0 }
    await #expect { try await messages.flush(waitsForOthers: false) } throws: { ErrorCode.illegalState ~= $0 }
    #expect(!messages.hasFlushes)
  }

  @Test func `a cancelled flush ends at once, and leaves nothing behind`() async throws {
    let flush = await beginFlush()
    flush.cancel()
    await #expect(throws: CancellationError.self) { try await flush.value }
    #expect(!messages.hasFlushes)
  }
}
