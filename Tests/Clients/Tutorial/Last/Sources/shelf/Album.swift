import Coherence
import CoherenceModelMacros

@Entity final class Album: ManagedObject {
  @Attribute(.unique) var code: String
  var title: String
  var year: Int?
  var isFavourite = false
  @Relationship(inverse: \Artist.albums) var artist: Artist?
  @Relationship(deleteRule: .cascade) var tracks: OrderedToMany<Track>
}
