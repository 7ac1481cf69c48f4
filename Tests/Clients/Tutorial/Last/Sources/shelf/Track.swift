import Coherence
import CoherenceModelMacros

@Entity final class Track: ManagedObject {
  var title: String
  @Relationship(inverse: \Album.tracks) var album: Album?
}
