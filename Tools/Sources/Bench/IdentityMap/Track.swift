import CoherenceIdentityMap

/// An entity of three fields.
struct Track: Identifiable, Equatable, Sendable {
  let id: Int
  var title: String
  var plays: Int

  init(_ id: Int, plays: Int = 0) {
    self.id = id
    title = "Track \(id)"
    self.plays = plays
  }
}

/// An entity with ten nested entities.
struct Album: Aggregate, Equatable {
  let id: Int
  var title: String
  var tracks: [Track]

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.tracks)] }

  /// An album with tracks of its own.
  init(_ id: Int) {
    self.id = id
    title = "Album \(id)"
    tracks = (0..<10).map { Track(id * 10 + $0) }
  }
}

/// An entity with one nested entity.
struct Review: Aggregate, Equatable {
  let id: Int
  var text: String
  var track: Track

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.track)] }
}

/// An entity with nested entities of its own type.
struct Part: Aggregate, Equatable {
  let id: Int
  var name: String
  var parts: [Part]

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.parts)] }
}
