import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The prepared processes in which a test runs its clients, and the socket on which the test receives their messages.
///
/// Not thread-safe: one thread uses the value.
final class KillStage {
  /// The treatment of a message.
  enum Treatment {
    case answer(KillAnswer)
    /// Kills the client, and sends no reply.
    case kill
  }

  /// The client and the time of a kill.
  struct Kill {
    var index: Int
    var delay: Duration
    /// Whether the delay begins with the first message of the client. Otherwise it begins at once.
    var followsMessage = true
  }

  let socket: String
  private let directory: TemporaryDirectory
  private let listener: CInt
  private let processes: [PreparedProcess]
  /// The identifiers of the clients' processes after their first message.
  private var speakers: Set<pid_t> = []

  /// - Parameter count: The maximum number of concurrent clients.
  init(_ count: Int) throws {
    directory = try TemporaryDirectory()
    socket = directory.url.appendingPathComponent("socket").path(percentEncoded: false)
    listener = try UnixSocket.listen(at: socket)
    processes = try (0..<count).map { _ in try PreparedProcess() }
  }

  deinit { close(listener) }

  func start(_ command: KillCommand, on index: Int) throws { try processes[index].start(command) }
  func kill(_ index: Int) { processes[index].killClient() }

  /// Serves messages until a client ends.
  ///
  /// - Parameter kill: The client to kill, and the time; `nil` for none.
  /// - Returns: The index of the ended client, and its exit code or signal.
  func serve(
    killing kill: Kill? = nil, _ treat: (KillMessage) throws -> Treatment
  ) throws -> (index: Int, end: PreparedProcess.End) {
    var kill = kill
    var deadline: ContinuousClock.Instant?
    while true {
      if deadline == nil, let kill, !kill.followsMessage || processes[kill.index].client.map(speakers.contains) == true
      {
        deadline = .now + kill.delay
      }
      let running = processes.indices.filter { processes[$0].client != nil }
      var polled = ([listener] + running.map { processes[$0].descriptor }).map {
        pollfd(fd: $0, events: CShort(POLLIN), revents: 0)
      }
      let rest = deadline.map { ContinuousClock.now.duration(to: $0) / .milliseconds(1) }
      let ready = poll(&polled, nfds_t(polled.count), rest.map { CInt(max(0, $0.rounded(.up))) } ?? -1)
      if ready < 0 { continue }
      if let victim = kill, let time = deadline, ContinuousClock.now >= time {
        self.kill(victim.index)
        (kill, deadline) = (nil, nil)
      }
      // A client sends its messages before its end, so they are received first.
      if polled[0].revents != 0 {
        try receive(treat)
      } else if let ended = running.indices.first(where: { polled[$0 + 1].revents != 0 }) {
        return (running[ended], try processes[running[ended]].readEnd())
      }
    }
  }

  private func receive(_ treat: (KillMessage) throws -> Treatment) throws {
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { return }
    defer { close(connection) }
    // A killed client may leave an incomplete message, and may not read the reply.
    guard let line = UnixSocket.readLine(from: connection) else { return }
    let message = try JSONDecoder().decode(KillMessage.self, from: line)
    speakers.insert(message.process)
    switch try treat(message) {
    case .answer(let answer):
      try? UnixSocket.write(try JSONEncoder().encode(answer) + [UInt8(ascii: "\n")], to: connection)
    case .kill: for process in processes where process.client == message.process { process.killClient() }
    }
  }
}
