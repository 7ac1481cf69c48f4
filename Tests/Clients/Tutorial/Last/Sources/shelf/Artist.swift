import Coherence
import CoherenceModelMacros

@Entity final class Artist: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(deleteRule: .cascade) var albums: ToMany<Album>
}
