// A settled pile of equal spheres in an open box, timed with box3d.
//
// usage: box3d-deck PILE THREADS WARM FRAMES RUNS
//
// PILE is what `cargo peers` writes; WARM frames of 1/60 s are untimed, each of RUNS times FRAMES is timed. Bodies may not fall
// asleep: what is timed is the work of all of them.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "box3d/box3d.h"
#include "box3d/constants.h"

// box3d's own default for games.
enum { SUBSTEPS = 4 };

static void fail(const char *sentence, const char *what)
{
	fprintf(stderr, "box3d-deck: %s %s\n", sentence, what);
	exit(1);
}

// The text behind `"name":`.
static const char *value(const char *text, const char *name)
{
	char quoted[64];
	snprintf(quoted, sizeof quoted, "\"%s\":", name);
	const char *found = strstr(text, quoted);
	if (found == NULL)
		fail("the pile has no", name);
	return found + strlen(quoted);
}

static float number(const char *text, const char *name)
{
	return strtof(value(text, name), NULL);
}

// The three numbers of a list, and where it ends.
static const char *vector(const char *text, b3Vec3 *vector)
{
	float numbers[3];
	for (int k = 0; k < 3; ++k)
	{
		text += strspn(text, "[, \n");
		char *end;
		numbers[k] = strtof(text, &end);
		if (end == text)
			fail("expected a number at", text);
		text = end;
	}
	*vector = (b3Vec3){ numbers[0], numbers[1], numbers[2] };
	return text + strspn(text, "] \n");
}

static char *contents(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL)
		fail("cannot read", path);
	fseek(file, 0, SEEK_END);
	size_t size = (size_t)ftell(file);
	rewind(file);
	char *text = malloc(size + 1);
	if (fread(text, 1, size, file) != size)
		fail("cannot read", path);
	text[size] = 0;
	fclose(file);
	return text;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **arguments)
{
	if (count != 6)
		fail("usage:", "box3d-deck PILE THREADS WARM FRAMES RUNS");
	const char *pile = contents(arguments[1]);
	int threads = atoi(arguments[2]), warm = atoi(arguments[3]), frames = atoi(arguments[4]), runs = atoi(arguments[5]);
	float radius = number(pile, "radius"), frame = number(pile, "frame");

	// The size of a typical object, from which box3d derives its tolerances.
	b3SetLengthUnitsPerMeter(2.0f * radius);
	b3WorldDef worldDef = b3DefaultWorldDef();
	worldDef.gravity = (b3Vec3){ 0.0f, -number(pile, "gravity"), 0.0f };
	worldDef.enableSleep = false;
	worldDef.workerCount = (uint32_t)threads;
	b3WorldId world = b3CreateWorld(&worldDef);
	b3ShapeDef surface = b3DefaultShapeDef();
	surface.density = number(pile, "density");
	surface.baseMaterial.friction = number(pile, "friction");
	surface.baseMaterial.restitution = number(pile, "restitution");

	// box3d has no planes: each is the face of a thick plate.
	const float thick = 1.0f, wide = 16.0f;
	const char *planes = value(pile, "planes");
	for (int k = 0; k < 5; ++k)
	{
		b3Vec3 normal;
		vector(value(planes, "normal"), &normal);
		float middle = number(planes, "offset") - thick;
		planes = value(planes, "offset");
		b3BodyDef bodyDef = b3DefaultBodyDef();
		bodyDef.position = (b3Pos){ middle * normal.x, middle * normal.y, middle * normal.z };
		b3BoxHull plate = b3MakeBoxHull(normal.x != 0.0f ? thick : wide, normal.y != 0.0f ? thick : wide,
										normal.z != 0.0f ? thick : wide);
		b3CreateHullShape(b3CreateBody(world, &bodyDef), &surface, &plate.base);
	}

	const char *positions = value(pile, "position"), *velocities = value(pile, "velocity"), *spins = value(pile, "spin");
	size_t bodies = 0, room = 0;
	b3BodyId *body = NULL;
	while (positions[strspn(positions, "[, \n")] == '-' || strspn(positions + strspn(positions, "[, \n"), "0123456789") > 0)
	{
		b3Vec3 position, velocity, spin;
		positions = vector(positions, &position);
		velocities = vector(velocities, &velocity);
		spins = vector(spins, &spin);
		if (bodies == room)
			body = realloc(body, (room = 2 * room + 1024) * sizeof *body);
		b3BodyDef bodyDef = b3DefaultBodyDef();
		bodyDef.type = b3_dynamicBody;
		bodyDef.position = (b3Pos){ position.x, position.y, position.z };
		bodyDef.linearVelocity = velocity;
		bodyDef.angularVelocity = spin;
		body[bodies] = b3CreateBody(world, &bodyDef);
		b3CreateSphereShape(body[bodies], &surface, &(b3Sphere){ { 0.0f, 0.0f, 0.0f }, radius });
		++bodies;
	}

	for (int k = 0; k < warm; ++k)
		b3World_Step(world, frame, SUBSTEPS);
	for (int run = 0; run < runs; ++run)
	{
		double start = seconds();
		for (int k = 0; k < frames; ++k)
			b3World_Step(world, frame, SUBSTEPS);
		printf("peers: seconds %.9f\n", seconds() - start);
	}

	// A contact of two bodies is seen from both.
	double contacts = 0.0, energy = 0.0;
	for (size_t k = 0; k < bodies; ++k)
	{
		b3ContactData data[64];
		int touching = b3Body_GetContactData(body[k], data, 64);
		for (int c = 0; c < touching; ++c)
		{
			b3BodyType a = b3Body_GetType(b3Shape_GetBody(data[c].shapeIdA));
			b3BodyType b = b3Body_GetType(b3Shape_GetBody(data[c].shapeIdB));
			contacts += a == b3_dynamicBody && b == b3_dynamicBody ? 0.5 : 1.0;
		}
		b3Vec3 v = b3Body_GetLinearVelocity(body[k]), w = b3Body_GetAngularVelocity(body[k]);
		double mass = b3Body_GetMass(body[k]), inertia = 0.4 * mass * radius * radius;
		energy += 0.5 * mass * (v.x * v.x + v.y * v.y + v.z * v.z) + 0.5 * inertia * (w.x * w.x + w.y * w.y + w.z * w.z);
	}
	b3Version version = b3GetVersion();
	printf("peers: contacts %.0f\npeers: kinetic_energy_j %g\n", contacts, energy);
	printf("peers: version %d.%d.%d\n", version.major, version.minor, version.revision);
	return 0;
}
