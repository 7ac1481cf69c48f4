import Coherence
import CoherenceModelMacros
import Foundation

/// The entities of the next version of the program.
enum NextMusicLibrary {
  @Entity final class Album: ManagedObject {
    @Attribute(formerNames: ["title"]) var name: String
    var year: Int?
    var isFavourite = false
    @Relationship(deleteRule: .cascade) var tracks: OrderedToMany<Track>
  }

  @Entity final class Track: ManagedObject {
    var title: String
    var length: Duration
    @Relationship(inverse: \Album.tracks) var album: Album?
  }

  static func open(in directory: URL) throws -> MusicLibrary.Container {
    let model = try ManagedObjectModel(Album.self, Track.self, name: "Library")
    let container = MusicLibrary.Container(name: "Library", managedObjectModel: model, storeLocation: directory)
    try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    return container
  }
}
