import CoherenceHTTP
import Foundation
import Testing

/// The slots of a queue, without a transfer.
@Suite("The slots of the transfer queue", .timeLimit(.minutes(15)))
struct TransferPermitTests {
  private func admit(to queue: TransferQueue) async throws -> TransferPermit {
    try await queue.admit(to: URL(string: "https://example.org/").flatMap { HTTPOrigin($0) })
  }

  @Test(arguments: [0, -1])
  func `a queue without a limit admits every request at once`(limit: Int) async throws {
    let queue = TransferQueue(limit: limit)
    var permits: [TransferPermit] = []
    for _ in 0..<20 { permits.append(try await admit(to: queue)) }
    #expect(permits.count == 20 && queue.waitingCount == 0)
  }

  @Test func `a request without an origin waits for no other request`() async throws {
    let queue = TransferQueue(limit: 1)
    let permits = [try await queue.admit(to: nil), try await queue.admit(to: nil), try await admit(to: queue)]
    #expect(permits.count == 3 && queue.waitingCount == 0)
  }

  @Test func `a slot released twice admits one request`() async throws {
    let queue = TransferQueue(limit: 1)
    let first = try await admit(to: queue)
    let second = Task { try await admit(to: queue) }
    while queue.waitingCount < 1 { await Task.yield() }
    first.release()
    let running = try await second.value
    first.release()
    let third = Task { try await admit(to: queue) }
    while queue.waitingCount < 1 { await Task.yield() }
    running.release()
    try await third.value.release()
    #expect(queue.waitingCount == 0)
  }

  @Test func `a slot is released with the last reference to its permit`() async throws {
    let queue = TransferQueue(limit: 1)
    for _ in 0..<2 {
      let permit = try await admit(to: queue)
      withExtendedLifetime(permit) {}
    }
    #expect(queue.waitingCount == 0)
  }
}
