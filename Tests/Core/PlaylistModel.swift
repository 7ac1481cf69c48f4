@testable import CoherenceCore

/// A model with an ordered relationship, whose members have a slot for their position.
struct PlaylistModel {
  let playlist: EntityDescription
  let track: EntityDescription
  let tracks: RelationshipDescription
  /// The slots of a track. The position follows the reference to the owner.
  let title: Int
  let plays: Int
  let owner: Int
  let position: Int
  /// The model of both entities.
  let whole: ManagedObjectModel
  private let spaces: IDSpaces

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Playlist") {
        Attribute("name", .string, optional: true)
        Relationship("tracks", toMany: "Track", inverse: "playlist", ordered: true)
      }
      Entity("Track") {
        Attribute("title", .string, optional: true)
        Attribute("plays", .int64, optional: true)
        Relationship("playlist", toOne: "Playlist", inverse: "tracks")
      }
    }
    whole = model
    playlist = try model.entity(named: "Playlist")
    track = try model.entity(named: "Track")
    spaces = IDSpaces(store: StoreIdentifier("playlists"), model: model)
    guard let tracks = playlist.relationship(named: "tracks"), let title = track.attribute(named: "title")?.slot,
      let plays = track.attribute(named: "plays")?.slot, let owner = track.relationship(named: "playlist")?.slot,
      case .position = track.slots[owner + 1]
    else { throw CoherenceError(.illegalState, "The position of a track must follow its reference.") }
    self.tracks = tracks
    (self.title, self.plays, self.owner, self.position) = (title, plays, owner, owner + 1)
  }

  func id(_ entity: EntityDescription, _ key: Int64) -> ManagedObjectID {
    ManagedObjectID(space: spaces[entity], key: key)
  }

  /// A reference to a playlist.
  func reference(_ key: Int64) -> AttributeValue { .reference(id(playlist, key)) }

  /// A row with the values given by slot, and null in the other slots.
  func row(
    _ entity: EntityDescription, key: Int64 = 1, version: Int64 = 1, _ values: [Int: AttributeValue] = [:]
  ) -> Row {
    Row.make(
      id: id(entity, key), entity: entity, version: version,
      values: entity.slots.indices.map { values[$0] ?? .null })
  }

  /// The unsaved change of a track.
  func change(of row: Row, setting values: [Int: AttributeValue] = [:]) -> PendingRecord {
    let record = PendingRecord(changing: row)
    for (slot, value) in values.sorted(by: { $0.key < $1.key }) { record.set(value, at: slot) }
    return record
  }
}
