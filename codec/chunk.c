/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/chunk.h"

/*
 * A cut needs more zero bits before the average size than after it, which
 * draws the sizes towards the average.
 */
static const uint64_t mask_before_average = 0xffff000000000000;
static const uint64_t mask_after_average = 0xfff0000000000000;

enum { WINDOW = 64 }; /* bytes that a cut depends on: one per bit of the hash */

/* splitmix64 from the seed "tacfscdc"; a test computes it again. */
static const uint64_t gear[256] = {
	0x27080fcab5a3a98e, 0xca4349dcc90ff734, 0x8f658fbd199589e9,
	0xb5bbf6c4824d6296, 0x81024b531944691c, 0x2cd05869a097a218,
	0xa9a50456f7fa5cfc, 0xf1d5c45ba2a1acaa, 0xe8e7e7769a8fcbe3,
	0x79b3e596b82a192c, 0xf4d2a898123a8c18, 0x3d13eefc72df3908,
	0xec3c499324bfa723, 0x9b5f1b26895844e0, 0x611738940c0daea0,
	0x6f3aecfa85f6fa19, 0x1ba6f1e80f143770, 0x243bc3560ef44850,
	0x7f5203fc8866ca3f, 0x3bd34d047f60deea, 0xf5f80e7647996205,
	0xdada991935f66df2, 0xd503b49e8bafb761, 0x18210c82cbc399a8,
	0xdbf4cf4c47bda680, 0x52b95c74e5adfe29, 0xb2571ab59bfed917,
	0x7803baf60522ff9a, 0x0cbdf3901f9ca0e7, 0x117b5708ca4e6970,
	0x7621186289b3883d, 0xb5a8865dba0d2667, 0x72c927943680218c,
	0xb03f0b4e5ab9f340, 0x6cdafed90325e947, 0xf010fe27d9944631,
	0x100cba61be83d296, 0x36ffe9b16cd6a4e1, 0x8163b9e62b1049b8,
	0x0085b6aa19af1e41, 0x77abeef6e5c5b294, 0xee47741d9e6d8890,
	0xdf017d30d14808ce, 0xcab67b6ba4d888dd, 0x8c6d746ef6b24bc6,
	0x251f6d16a1516029, 0x622ee7b08185c156, 0x9559e3855df88bba,
	0xc7d43b15fa79cb8e, 0x2960da67a4190ac8, 0x4e56dbef7207fb7a,
	0x379f30318cdbfddb, 0x5330392d95e44daa, 0xaaeee89f5e65cbe1,
	0x35edf5eadf501cac, 0x1873e387c8206248, 0x23e6de08f5ddff7e,
	0x0f001e907b250665, 0x55089daab7f39da8, 0x3b62dd447219dabd,
	0xc8f53924bb3aff7c, 0xc2029ad99677c1ad, 0x146898fb8cb87eec,
	0xea8fa59c4b4930e5, 0x76633fc78916670a, 0x56fac22ff9a949b9,
	0xd4c55f5292606528, 0x22975121f898bd77, 0x824e371ce145895e,
	0xc9c4b54cf95ecdc1, 0xd327556708d54f51, 0xa9d3c73bd1cf7ca8,
	0x079d66254cd2772a, 0xce45d0e3b3051c2d, 0x1abdf190058c4363,
	0x03dd9c25555152fb, 0x0d488a9e3bed615c, 0x4cc6bb4b2477b6c2,
	0xf1ddf44db82cb13e, 0x3fae7d650b6e10b0, 0x42cc75171adb78b0,
	0x5f195fed042a8e41, 0xa207e9e02f36c3be, 0xaf1a453bdc322944,
	0xc4d87529cc5452e6, 0x349206e27f0fb0ee, 0x9db449e1117d7f2b,
	0xaf9eb31dd4a942e7, 0xe5bdcda8ab412841, 0x9d262eeec55ef1c5,
	0x847b2907de4e1b52, 0xdd315f84f2ddf527, 0x9303ef2d36d2790a,
	0xf66c125ebfdde8bb, 0xe1297ddd32ecf0ad, 0xa003f3b0a10f3134,
	0x519db69661763189, 0xc77c6d960265f8e2, 0x198426b0a2786274,
	0x77c04ea46256e54a, 0x8e464c09e0507c42, 0xf5c7358370ad7664,
	0x6feec866450c9a3e, 0xa43399dca3000c16, 0x52ebdf6fd14fe9b4,
	0x1ab18e3fe29fd8aa, 0xe4b6638b538eb0ff, 0x731e670504ec3469,
	0x70537f00415f32cb, 0x65d9f6f112e88955, 0xe2a5e634b2060e29,
	0xce2aca1e86b2b517, 0xaffce7440949fa0a, 0x40a25711da2e086f,
	0x6a39e69a1fb65ad7, 0x3a3647af924cc95d, 0x10811b4df3547675,
	0xdadbed39ff5d47b1, 0x3d04ecca6a45ef00, 0x6f70f0f78dc31c24,
	0x71e51bbdb9f51d69, 0x526f0d5c64377ebc, 0x62bf216421e9c5bc,
	0xb8069ec10acdac65, 0xe18c261ecd1409a9, 0xbf67724665d370ba,
	0x9f21246c4a9c80ce, 0xa76581efc1eba08f, 0x944f5b91a2c14fcd,
	0xaa19a7b00645e138, 0xc3d2165e5c9a3a8a, 0x6bd8bbd642356ba9,
	0x5ec45c7402d8f792, 0x63f928ef31c1ab66, 0x23fc0baeb1278b71,
	0x3509ec9c215d15aa, 0x1df6d3e38efb99a8, 0x3d5b62fcc27c92a1,
	0xa39baea64c30ab87, 0x75a44dc89c9499ed, 0x41b820f93438948d,
	0x358ab52d4fd9693a, 0x1b59dac3b7246fde, 0x679a2f3f8de48e90,
	0x36736d1d347ef551, 0x44bcd83d037296a3, 0x62c8f50a5663d42a,
	0xb27a8418974060b3, 0xf3b2917ddf74f695, 0x969db44ec13a3277,
	0x3b056439bb7dceb6, 0x2f6403250ce7e7c0, 0x8da64ca0b04de63f,
	0xcee09620acf4088b, 0x36971e73a53bb145, 0x174118505f5a9c09,
	0x9f59975ab78f71d7, 0x8faf731047bc8a94, 0xd322726daaf94200,
	0x430b57511d97d715, 0xec795c069c45a426, 0x69ca591a5a7d8ab8,
	0x490ab61749170e26, 0xb5d97bcf7e34d822, 0xaa3cf2d27a7e6c09,
	0x50fcca0283eccdcc, 0xa09ba61386b86fe4, 0x8b46a833d2a04f8d,
	0x15834fac0426c59b, 0x5d83a73faf39a3b2, 0x6e3b76514b898161,
	0x3221bdb9981d3431, 0x509ad54cc6ae8e4b, 0x5463d25f3d5d9c2e,
	0xe915867bd509dc10, 0x66dc2025cd86c395, 0xafb045ff47b0d9e6,
	0x1cbb06cec8069788, 0xccca6826bbe3aae4, 0x8cb6d3c68e0ff0fe,
	0x250c607e4700c268, 0x2f3285870d7800c9, 0x34568f23a07f92f5,
	0x4fd96bd46d9a1600, 0xdd7876a0c91f977e, 0x7fe9283e4006bd61,
	0xe2a0bd9c62e35de3, 0x67bf5d2abf394649, 0xd61740cdaa9012f6,
	0xe93b3069e38919e0, 0x88d991dbcb407b5b, 0xa106df3803f8e53e,
	0x888f2ca9cd3c125c, 0x94937593f362becb, 0x2a33eb1a7f1b2840,
	0xe2981aba43f85dd4, 0x97d1c61bba7d0c2e, 0x63654a3e9e7e6f10,
	0xee80dc056cd993a4, 0xcc46ec53d05b7f8e, 0x4546951ce6ab6fad,
	0x422d65f2cdadaa5c, 0xaf089d0e2843dd0b, 0x26ad34e76d72cae1,
	0x5b3055200f2c05b0, 0x88907e000f7ee53d, 0x6b47a11544e4f45f,
	0x8f066ac56860a46a, 0xfda0f13092bba6aa, 0x93f0cb0e37d6286c,
	0x404c56b1359ba277, 0x390d7aa3c43d8fe9, 0x651373421b480017,
	0xbf37fa54b5c0685e, 0x0de10270fb8be4ee, 0xc2d2c2a3aea57b00,
	0xe3ca67b85acc7f33, 0x473cadc91b8ea357, 0xebe75c932b4b25a0,
	0x9995d6c7f70465a4, 0x8bbeb98359bd9212, 0x25c57fffdc9055ee,
	0x0981251f7a073189, 0x363079b873aa1b2d, 0xb2e7e22d4aafb67c,
	0xf2dea260d83e1fd1, 0xc44f4480a180eed5, 0x1e2901a5ea6c988e,
	0x59192da39b91ca9c, 0x27308743b1bafd2c, 0x92afd283849f226c,
	0x4227f24b62eb3904, 0x7eeffa910b84d330, 0x829b1acbe8527bde,
	0x15922cbb558505de, 0xf2c46eb79423300f, 0x073e273f50b17f5e,
	0x75e60bc739f8db11, 0x26054b3af060f78c, 0x702b177484b06819,
	0x24b06d2834d8e1e1, 0xe73acd6713d89149, 0xd40c89a164f36061,
	0x33025226b820353d, 0x1693abd9d5c61cbb, 0x6956878cd3481459,
	0x22f320e693f89f56, 0x22b597e7b73e10c8, 0x46cf11ff5083129e,
	0xc32912be356ead59, 0x98873e3acc260a2e, 0x18b171578785a330,
	0xa9d3c148ce5a33e2, 0x743ecca5b7c747b7, 0xd72bef84a934be56,
	0xbc83a29b1f5bcc1a,
};

/*
 * The first size in from..to at whose end the hash has zeroes under the mask,
 * or `to`. *hash is that of the bytes before `from` and moves along.
 */
static size_t find_cut(const uint8_t *bytes, size_t from, size_t to,
		       uint64_t mask, uint64_t *hash)
{
	uint64_t h = *hash;
	size_t size = from;

	while (size < to) {
		if (!(h & mask))
			return size;
		h = (h << 1) + gear[bytes[size++]];
	}
	*hash = h;
	return to;
}

size_t chunk_first(const uint8_t *bytes, size_t size)
{
	size_t end = size < CHUNK_MAX ? size : CHUNK_MAX;
	size_t middle = end < CHUNK_AVERAGE ? end : CHUNK_AVERAGE;
	uint64_t hash = 0;
	size_t cut;

	if (size <= CHUNK_MIN)
		return size;
	for (size_t i = CHUNK_MIN - WINDOW; i < CHUNK_MIN; i++)
		hash = (hash << 1) + gear[bytes[i]];
	cut = find_cut(bytes, CHUNK_MIN, middle, mask_before_average, &hash);
	if (cut < middle)
		return cut;
	return find_cut(bytes, middle, end, mask_after_average, &hash);
}
