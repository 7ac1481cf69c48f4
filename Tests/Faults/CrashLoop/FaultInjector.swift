@testable import CoherenceConformance
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Synchronization
import TestSupport

/// Injects faults between the writers of a crash loop and their server, one at a time.
final class FaultInjector {
  enum Fault: String, CaseIterable, Sendable {
    case terminatedBackend = "a backend is told to end"
    case killedBackend = "a backend is killed, and the server recovers"
    case stoppedServer = "the server is stopped at once, and started"
    case killedPostmaster = "the postmaster is killed, and started"
    case cutLink = "a link is cut"
    case stalledLink = "a link stalls"
  }

  private let cluster: Cluster
  private let proxy: SocketProxy
  private let gate: CrashLoopGate
  private var random: SplitMix64
  /// The faults to inject first, so that each run has every kind of fault.
  private var firstFaults: [Fault]

  init(_ cluster: Cluster, _ proxy: SocketProxy, _ gate: CrashLoopGate, seed: UInt64) {
    self.cluster = cluster
    self.proxy = proxy
    self.gate = gate
    random = SplitMix64(seed: seed)
    firstFaults = []
    while firstFaults.count < Fault.allCases.count {
      let fault = random.pick(Fault.allCases)
      if !firstFaults.contains(fault) { firstFaults.append(fault) }
    }
  }

  /// Draws the next fault. Faults with a slow recovery of the server are rare.
  func draw() -> Fault {
    if let fault = firstFaults.popLast() { return fault }
    return random.weighted([
      (17, Fault.terminatedBackend), (17, .cutLink), (6, .stalledLink), (6, .killedBackend), (2, .stoppedServer),
      (2, .killedPostmaster),
    ])
  }

  /// Injects a fault, and waits until every writer has saved again.
  func inject(_ fault: Fault) throws {
    switch fault {
    case .terminatedBackend:
      try terminateBackend()
      try awaitWriters()
    case .killedBackend:
      try killBackend()
      try awaitWriters()
    case .stoppedServer:
      try restart { try cluster.stopAtOnce() }
      try awaitWriters()
    case .killedPostmaster:
      try restart { try cluster.killPostmaster() }
      try awaitWriters()
    case .cutLink: try failLink(by: random.pick([.cut, .loseAnswers]))
    case .stalledLink: try failLink(by: random.pick([.holdAll, .holdAnswers]))
    }
  }

  private func awaitWriters() throws { try gate.awaitAcknowledgements(beyond: gate.acknowledgements) }

  // MARK: The server

  /// A server process that serves a writer; `nil` if no such process exists at the moment.
  private func backend(_ connection: PostgreSQLConnection) throws -> pid_t? {
    let backends = try Cluster.processes(seenBy: connection).filter(\.isOfClient)
    return backends.isEmpty ? nil : random.pick(backends).number
  }

  private func terminateBackend() throws {
    let connection = try cluster.administration()
    guard let process = try backend(connection) else { return }
    try connection.run(
      "SELECT pg_catalog.pg_terminate_backend(CAST(\(key: Int64(process)) AS integer))", isPrepared: false)
  }

  /// Kills a process that serves a writer. The server then ends its other processes and recovers.
  private func killBackend() throws {
    let connection = try cluster.administration()
    guard let process = try backend(connection) else { return }
    gate.setServerAway(true)
    defer { gate.setServerAway(false) }
    guard send(SIGKILL, to: process) else { return }
    // Waits until the recovering server ends this connection too, or until the process has disappeared.
    while let others = try? Cluster.processes(seenBy: connection), others.contains(where: { $0.number == process }) {}
    while (try? cluster.administration()) == nil {}
  }

  private func restart(_ end: () throws -> Void) throws {
    gate.setServerAway(true)
    defer { gate.setServerAway(false) }
    try end()
    try cluster.start()
  }

  // MARK: Links

  /// Makes a link fail at one of the next messages of its client: a read, the changes of a save, or its commit.
  private func failLink(by fault: SocketProxy.Link.Fault) throws {
    guard let link = try busyLink() else { return }
    // Cuts the link in any case, because the threads of a stalled link would wait forever.
    defer { link.cut() }
    let former = gate.acknowledgements
    let failed = FaultFlag()
    link.fail(by: fault, after: random.number(0...6)) { [gate] in
      failed.set()
      gate.wakeUp()
    }
    try gate.awaitAcknowledgements(5, beyond: former) { failed.isSet }
    // An unused link fails at once, because the pool prefers its other connections and may never use this one.
    if !failed.isSet { link.cut() }
    try awaitWriters()
  }

  /// A link in use: its client has sent a message while every writer saved.
  private func busyLink() throws -> SocketProxy.Link? {
    let former = proxy.links.map { ($0, $0.messages) }
    try awaitWriters()
    let busy = former.compactMap { link, messages in link.messages > messages ? link : nil }
    return busy.isEmpty ? nil : random.pick(busy)
  }
}

/// Whether a fault has taken effect.
private final class FaultFlag: Sendable {
  private let value = Mutex(false)
  var isSet: Bool { value.withLock { $0 } }
  func set() { value.withLock { $0 = true } }
}
