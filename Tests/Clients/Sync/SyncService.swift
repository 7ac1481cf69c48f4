import Dispatch
import Foundation
import Listener
import Synchronization

/// A service with pages of songs. The first reply to a client's request for a page may be faulty. In turns it is
/// correct, a redirect, the previous page, half a body, and a status of failure.
final class SyncService: Sendable {
  private let state: Mutex<State>
  private let listener: Mutex<HTTPListener?> = Mutex(nil)

  private struct State {
    var catalogue: Catalogue
    /// By client and address.
    var asked: Set<String> = []
    var requestCount = 0
    var hold: Hold?
    /// Whether later requests pass without being held.
    var isHoldOver = false
  }

  /// A held page and its signals.
  private struct Hold: Sendable {
    let cursor: Int
    let isAsked: AsyncStream<Void>.Continuation
    let mayAnswer: DispatchSemaphore
  }

  init(_ catalogue: Catalogue) throws {
    state = Mutex(State(catalogue: catalogue))
    let listener = try HTTPListener { [weak self] in self?.answer($0) }
    self.listener.withLock { $0 = listener }
  }

  var url: URL { listener.withLock { $0?.url } ?? URL(fileURLWithPath: "/") }

  var requestCount: Int { state.withLock { $0.requestCount } }

  /// Deletes the last songs.
  func removeSongs(from number: Int) { state.withLock { $0.catalogue.songCount = number - 1 } }

  /// Holds back the page from a song, runs a block when a client waits for this page, and then sends the page. After
  /// ``endHold()``, runs the block at once.
  func holding(pageFrom song: Int, _ block: () async throws -> Void) async rethrows {
    let (isAsked, continuation) = AsyncStream.makeStream(of: Void.self)
    let mayAnswer = DispatchSemaphore(value: 0)
    state.withLock { state in
      state.hold = Hold(cursor: song, isAsked: continuation, mayAnswer: mayAnswer)
      if state.isHoldOver { continuation.finish() }
    }
    for await _ in isAsked {}
    defer { mayAnswer.signal() }
    try await block()
  }

  func endHold() {
    state.withLock { state in
      state.isHoldOver = true
      state.hold?.isAsked.finish()
    }
  }

  // MARK: Replies

  private enum Fault: Int {
    case none, redirect, repeated, truncated, refused
  }

  private func answer(_ request: HTTPListenerRequest) -> Data {
    let client = request.fields["x-client"] ?? ""
    let kind = String(request.path.split(separator: "/").last ?? "")
    let after = request.query["after"] ?? "0"
    // The page after a repeated page has a cursor with a suffix.
    let start = Int(after.prefix { $0 != "r" }) ?? 0
    let (catalogue, isFirst, hold) = state.withLock { state in
      state.requestCount += 1
      let hold = state.hold
      let isHeld = kind == "songs" && hold.map { start >= $0.cursor } ?? false
      if isHeld { state.hold = nil }
      return (state.catalogue, state.asked.insert("\(client) \(kind) \(after)").inserted, isHeld ? hold : nil)
    }
    if let hold {
      hold.isAsked.finish()
      hold.mayAnswer.wait()
    }
    let size = catalogue.pageSize
    let fault = isFirst && kind == "songs" && !after.hasSuffix("r") ? Fault(rawValue: start / size % 5) ?? .none : .none
    switch fault {
    case .none: return reply("200 OK", body(kind, start, catalogue))
    case .redirect: return reply("307 Moved", Data(), location: "/moved/\(kind)?after=\(after)")
    case .repeated: return reply("200 OK", songs(start - size, size, next: "\(start)r", catalogue))
    case .truncated:
      let whole = reply("200 OK", body(kind, start, catalogue))
      return whole.prefix(whole.count / 2)
    case .refused: return reply("500 Out of Order", Data())
    }
  }

  private func body(_ kind: String, _ start: Int, _ catalogue: Catalogue) -> Data {
    switch kind {
    case "artists": encode(Page(next: nil, records: catalogue.artists))
    case "genres": encode(Page(next: nil, records: catalogue.genres))
    default:
      songs(
        start, catalogue.pageSize,
        next: start + catalogue.pageSize < catalogue.songCount ? "\(start + catalogue.pageSize)" : nil, catalogue)
    }
  }

  private func songs(_ start: Int, _ count: Int, next: String?, _ catalogue: Catalogue) -> Data {
    let numbers = max(start, 0)..<min(start + count, catalogue.songCount)
    return encode(Page(next: next, records: numbers.map { catalogue.song($0 + 1) }))
  }

  private func encode(_ page: Page<some Codable & Sendable>) -> Data { (try? JSONEncoder().encode(page)) ?? Data() }

  private func reply(_ status: String, _ body: Data, location: String? = nil) -> Data {
    var head = "HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n"
    if let location { head += "Location: \(location)\r\n" }
    return Data("\(head)\r\n".utf8) + body
  }
}
