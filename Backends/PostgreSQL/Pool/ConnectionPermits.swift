/// The permits of a pool of connections, as of a counting semaphore: a permit has an idle connection, or allows its
/// holder to open one.
///
/// The number of permits is the size of the pool. Readers get one permit less, so that a save never waits for readers.
///
/// Two kinds of connections exceed the size. A connection *beyond the size* counts, and leaves the pool when it is
/// returned. A connection *beside the pool* stays open for long and does not count.
///
/// A server that refuses a connection for lack of slots lowers the limit of open connections below the size. The limit
/// rises again step by step, because other clients of the server may have closed theirs.
struct ConnectionPermits<Connection> {
  /// The right to use one connection.
  struct Permit {
    /// The idle connection; `nil` if the holder may open a connection.
    let connection: Connection?
    /// Whether the connection is beyond the size, because its holder must not wait.
    var isBeyondSize = false
  }

  private let size: Int
  /// The number of open connections up to which a caller may open another one: the size, or less while the server
  /// refuses connections.
  private var limit: Int
  private var idle: [Connection] = []
  /// The number of open connections, and of connections about to be opened, without those beside the pool.
  private var count = 0
  /// The number of connections that read.
  private var readers = 0

  init(size: Int) {
    self.size = size
    limit = size
  }

  var hasIdle: Bool { !idle.isEmpty }
  /// Whether the pool has connections open, or about to be opened.
  var hasOpen: Bool { count > 0 }
  /// Whether a save would get a permit.
  var hasFree: Bool { hasIdle || count < limit }
  /// Whether the server permits fewer connections than the size.
  var isLimited: Bool { limit < size }

  // MARK: Taking

  /// A free permit; `nil` if the caller has to wait.
  mutating func take(isReading: Bool) -> Permit? {
    // A single connection serves readers too.
    guard !isReading || readers < max(limit - 1, 1) else { return nil }
    let connection = idle.popLast()
    guard connection != nil || count < limit else { return nil }
    if connection == nil { count += 1 }
    if isReading { readers += 1 }
    return Permit(connection: connection)
  }

  /// A permit to open a connection beyond the size of the pool.
  mutating func takeBeyondSize(isReading: Bool) -> Permit {
    count += 1
    if isReading { readers += 1 }
    return Permit(connection: nil, isBeyondSize: true)
  }

  /// An idle connection, which leaves the pool; `nil` if the caller may open a connection beside the pool.
  mutating func takeBesidePool() -> Connection? {
    guard let connection = idle.popLast() else { return nil }
    count -= 1
    return connection
  }

  /// Passes the connection of a reader to a save.
  mutating func passToSave() { readers -= 1 }

  // MARK: Refusals

  /// Returns a permit for which the server has refused to open a connection, and lowers the limit to the remaining open
  /// connections.
  ///
  /// - Returns: Whether other connections of the pool remain, which its users will return.
  mutating func giveBackRefused(isReading: Bool) -> Bool {
    giveBack(nil, isReading: isReading)
    limit = min(limit, max(count, 1))
    return count > 0
  }

  /// Permits one more open connection, up to the size.
  mutating func raiseLimit() { limit = min(limit + 1, size) }

  // MARK: Returning

  /// Returns a permit with an idle connection, or without a connection. A connection beyond the size leaves the pool.
  ///
  /// - Parameter connection: The connection; `nil` if none is to be reused.
  mutating func giveBack(_ connection: Connection?, isReading: Bool) {
    if isReading { readers -= 1 }
    if let connection, count <= size { idle.append(connection) } else { count -= 1 }
  }

  /// Adds a connection from beside the pool if there is room, and otherwise does nothing.
  mutating func giveBackBesidePool(_ connection: Connection?) {
    count += 1
    giveBack(connection, isReading: false)
  }

  /// Returns the permit of a reader whose connection the pool reclaims for a waiting thread.
  ///
  /// - Parameter connection: The connection; `nil` if it cannot be reused.
  mutating func reclaim(_ connection: Connection?) {
    readers -= 1
    if let connection { idle.append(connection) } else { count -= 1 }
  }

  /// Removes and returns the idle connections.
  mutating func removeIdle() -> [Connection] {
    count -= idle.count
    defer { idle = [] }
    return idle
  }
}
